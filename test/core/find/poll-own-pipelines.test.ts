// Tests how far back the list of the token's own pipelines is read, and how often.
import { expect, it } from 'vitest'
import { readOwnPipelines } from '../../../src/core/find/poll-own-pipelines.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { hour, minute, openPolledWorld, pollContextOf, type PolledWorld } from './polled-world.ts'
import { project } from './polled-pipelines.ts'

/** A pipeline that takes half an hour. */
const plan = {
  ...scenarios.small(new Random(1)),
  jobs: [{ name: 'train', stage: 'test', seconds: [1_800, 1_800] as const, tags: ['linux'] }],
}

/** Reads the list once. Like most rounds of the poller, it does not read the whole lookback, unless `whole` is true. The lookback is ten minutes. */
async function read(world: PolledWorld, whole = false): Promise<void> {
  const { store, api } = world
  await readOwnPipelines(pollContextOf(world), store.repositories.ownPipelines, {
    scope: api.url,
    lookback: 10 * minute,
    whole,
  })
}

it('reads back to the oldest active pipeline, even if it began before the lookback and newer ones are active', async () => {
  await using world = await openPolledWorld({ enrich: false })
  const oldest = world.lifecycle.create(plan)
  await world.pass(4 * minute, 4 * minute)
  const newest = world.lifecycle.create(plan)
  await read(world)
  await world.pass(hour, hour)
  await read(world)
  const listed = async (pipelineId: number): Promise<string | undefined> =>
    (await world.store.runs.get({ instance: world.api.url, pipelineId }))?.run.listed?.facts.status
  expect(await Promise.all([oldest, newest].map(async ({ id }) => listed(id)))).toEqual(['success', 'success'])
})

it('still reads back to the oldest active pipeline after it has read the whole lookback', async () => {
  await using world = await openPolledWorld({ enrich: false })
  const { id: pipelineId } = world.lifecycle.create(plan)
  await read(world)
  await world.pass(20 * minute, 20 * minute)
  // Without a newer pipeline, the next read would begin at this one anyway.
  world.lifecycle.create(plan)
  await read(world, true)
  await world.pass(20 * minute, 20 * minute)
  await read(world)
  const stored = await world.store.runs.get({ instance: world.api.url, pipelineId })
  expect(stored?.run.listed?.facts.status).toBe('success')
})

it("reads the lists of groups even if the token's own pipelines take more requests than a round may send", async () => {
  const [busy, other] = [project(1), project(2)]
  const poll = { groups: ['acme'], ownPipelines: true, interval: minute }
  await using world = await openPolledWorld({ projects: [busy, other], poll, perMinute: 17, enrich: false })
  const sweep = { startedAt: world.now(), since: world.now(), count: 0, before: 2, done: true }
  await world.store.repositories.sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
  // The list must be read back to the oldest active pipeline, which is the first of these.
  Object.assign(world.lifecycle.create({ ...plan, project: busy }), { status: 'running' })
  for (let n = 0; n < 420; n += 1)
    Object.assign(world.lifecycle.create({ ...plan, project: busy }), { status: 'success' })
  for (let round = 0; round < 3; round += 1) await world.poller.round()
  const asked = (prefix: string): number => world.api.asked.filter(({ path }) => path.startsWith(prefix)).length
  expect(asked('/groups/')).toBeGreaterThan(0)
  expect(asked('/pipelines')).toBeGreaterThan(5)
})
