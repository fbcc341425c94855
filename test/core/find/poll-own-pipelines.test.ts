// Tests how far back the list of the token's own pipelines is read.
import { expect, it } from 'vitest'
import { readOwnPipelines } from '../../../src/core/find/poll-own-pipelines.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { hour, minute, openPolledWorld, pollContextOf, type PolledWorld } from './polled-world.ts'

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
