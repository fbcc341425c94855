// Tests how projects without recent activity are read.
import { expect, it } from 'vitest'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { day, hour, minute, openPolledWorld } from './polled-world.ts'

it('finds the pipelines of the whole lookback when a group is first polled, even in projects without recent activity', async () => {
  await using world = await openPolledWorld({ poll: { groups: ['brightwater'], lookback: day } })
  for (const [at, age] of [minute, 23 * hour, 25 * hour].entries()) {
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(at)))
    Object.assign(pipeline, { status: 'success', updatedAt: world.now() - age })
  }
  await world.poller.round()
  expect(world.poller.counters.discovered).toBe(2)
})

it('does not log that the platform answers again because the sweep has nothing to request', async () => {
  await using world = await openPolledWorld({ poll: { ownPipelines: true, memberProjects: true } })
  await world.pass(hour, minute)
  world.api.misbehave = () => restFaults.wrongToken()
  await world.pass(20 * minute, minute)
  expect(world.logged.filter(({ level, msg }) => level >= 40 || msg.endsWith('answers again'))).toHaveLength(1)
})
