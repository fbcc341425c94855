// Tests what all kinds of polling share.
import { expect, it } from 'vitest'
import { openPolledWorld, pollContextOf } from './polled-world.ts'

it("requests a project's facts once, however many of its pipelines are found", async () => {
  await using world = await openPolledWorld()
  const { store, api } = world
  const context = pollContextOf(world)
  const listed = (id: number) => ({
    id,
    project: { id: 333, path: 'brightwater/data/reports' },
    status: 'success',
    updatedAt: world.now(),
  })
  await context.discover([listed(1), listed(2)])
  await context.discover([listed(3)])
  expect(api.asked.map(({ path }) => path)).toEqual(['/projects/333'])
  for (const pipelineId of [1, 2, 3]) {
    const known = await store.runs.get({ instance: api.url, pipelineId })
    expect(known?.run.project.facts).toMatchObject({ name: 'Reports', defaultBranch: 'main' })
  }
})
