// Tests that a search by job name finds all pipelines, although figures narrow it to the projects that have such a job.
import { closeAfterTest } from '../../support/after-test.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { expect, it } from 'vitest'
import { openHouse, pipelineWebhook, until } from '../../console/house.ts'

it('finds the pipelines of a renamed project in the group of its new path', async () => {
  const house = closeAfterTest(await openHouse())
  const { store } = house.daemon
  const jobs = [{ name: 'unit', from: 1, to: 50 }]
  const day = 86_400_000
  for (const [id, project, age] of [
    [1, { id: 3, path: 'old/shop' }, 3 * day],
    [2, { id: 3, path: 'new/shop' }, day],
    [3, { id: 4, path: 'new/app' }, day],
  ] as const)
    await house.post(pipelineWebhook({ id, project, jobs, begun: Date.now() - age }))
  await until(async () => {
    const { runs, open } = await store.runs.count()
    return runs === 3 && open === 0
  })
  await countFigures(store)
  const found = async (project?: string): Promise<number[]> =>
    (await store.views.search({ job: 'unit', project, limit: 9 })).runs.map(({ run }) => run.key.pipelineId).sort()
  expect(await found()).toEqual([1, 2, 3])
  expect(await found('old/')).toEqual([1])
  expect(await found('new/')).toEqual([2, 3])
  expect(await found('new/shop')).toEqual([2])
})
