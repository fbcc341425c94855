// Tests pipelines with several manual jobs that only the poller finds: each job that somebody plays is exported, although the pipeline then waits for
// the next one.
import { expect, it } from 'vitest'
import { hour, minute, openPolledWorld } from './polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { JobPlan } from '../../../src/simulator/platform/state.ts'

it('exports a manual job that was played even if its pipeline then waits for another manual job', async () => {
  await using world = await openPolledWorld({ poll: { groups: ['brightwater'] } })
  const plan = scenarios.blocked(new Random(3))
  const [first, last] = plan.jobs as [JobPlan, JobPlan]
  const staging = { ...last, name: 'apply to staging', stage: 'test' }
  const pipeline = world.lifecycle.create({ ...plan, jobs: [first, staging, last] })
  const sentIn = async (hours: number) => {
    await world.pass(hours * hour, minute)
    return (await world.sent()).map(({ attempt, pipeline: { facts }, jobs }) => [
      ...[attempt, facts.status],
      ...jobs.map(({ name, status }) => `${name}: ${status}`),
    ])
  }
  const waiting = ['plan: success', 'apply to staging: manual', 'apply: created']
  expect(await sentIn(2)).toEqual([[1, 'manual', ...waiting]])
  world.lifecycle.play(pipeline)
  expect(await sentIn(2)).toEqual([[2, 'manual', 'apply to staging: success']])
  expect(await sentIn(3)).toEqual([])
  world.lifecycle.play(pipeline)
  expect(await sentIn(1)).toEqual([[3, 'success', 'apply: success']])
})
