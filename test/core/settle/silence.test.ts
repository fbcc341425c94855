// Tests active runs about which nothing more is observed: the webhook that reported their end was lost, and none of the poller's lists contains them.
import { binOf } from '../../../src/lib/log-bins.ts'
import { describe, expect, it } from 'vitest'
import {
  day,
  hour,
  minute,
  openPolledWorld,
  second,
  type PolledWorld,
  type WorldOptions,
} from '../find/polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios, type ScenarioName } from '../../../src/simulator/platform/scenarios.ts'
import type { Delivery } from '../../../src/simulator/platform/delivery.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { JobPlan } from '../../../src/simulator/platform/state.ts'

const over = new Set(['success', 'failed', 'canceled', 'skipped'])

/** True for pipeline events that do not report an end. */
function hasNotEnded({ kind, body }: Delivery): boolean {
  const { object_attributes: observed } = JSON.parse(body) as { object_attributes: { status: string } }
  return kind === 'pipeline' && !over.has(observed.status)
}

const endsAreLost: WorldOptions = { hook: hasNotEnded }

function begin(world: PolledWorld, name: ScenarioName) {
  return world.lifecycle.create(scenarios[name](new Random(3)))
}

/** Starts a pipeline with one job that takes this long. */
function beginLong(world: PolledWorld, ms: number) {
  const plan = scenarios.small(new Random(3))
  const job: JobPlan = { name: 'long', stage: 'build', seconds: [ms / second, ms / second], tags: [] }
  return world.lifecycle.create({ ...plan, stages: ['build'], jobs: [job] })
}

function ended(chunks: readonly Chunk[]) {
  return chunks.map(({ key, attempt, pipeline }) => [
    key.pipelineId,
    attempt,
    pipeline.facts.status,
    pipeline.incomplete,
  ])
}

/** Moves the clock forward by `ms`. Returns the times at which the pipeline itself was requested meanwhile. */
async function askedAt(world: PolledWorld, ms: number, step: number): Promise<number[]> {
  const times: number[] = []
  const start = world.now()
  while (world.now() < start + ms) {
    const before = world.api.asked.length
    await world.pass(step, step)
    const news = world.api.asked.slice(before).filter(({ path }) => /pipelines\/\d+$/.test(path))
    times.push(...news.map(() => world.now()))
  }
  return times
}

describe('a run whose end was not reported by a webhook', () => {
  it('looks up a run whose end was not reported, and exports it once, with its final status and all its jobs', async () => {
    await using world = await openPolledWorld(endsAreLost)
    const pipeline = begin(world, 'flakyRunner')
    await world.pass(hour)
    const chunks = await world.sent()
    expect(ended(chunks)).toEqual([[pipeline.id, 1, 'success', false]])
    expect(chunks.flatMap(({ jobs }) => jobs.map(({ id }) => id))).toEqual(pipeline.jobs.map(({ id }) => id))
    expect(world.enricher.counters).toMatchObject({ missed: 1, completed: 0 })
  })

  it('looks up a run of which only the second attempt is silent', async () => {
    let isLost = false
    await using world = await openPolledWorld({
      hook: delivery => delivery.kind === 'pipeline' && (!isLost || hasNotEnded(delivery)),
    })
    const pipeline = begin(world, 'retried')
    while (pipeline.status !== 'failed') await world.pass(second, second)
    isLost = true
    await world.pass(hour)
    expect(pipeline.status).toBe('success')
    expect(ended(await world.sent())).toEqual([
      [pipeline.id, 1, 'failed', false],
      [pipeline.id, 2, 'success', false],
    ])
  })

  it('looks up a silent run even while the poller runs and considers its project recently active', async () => {
    await using world = await openPolledWorld({ ...endsAreLost, poll: { groups: ['brightwater'] } })
    // Scheduled pipelines do not count as activity, so the poller does not know the project.
    const pipelines = [begin(world, 'nightly'), begin(world, 'nightly')]
    await world.pass(30 * minute)
    expect(ended(await world.sent())).toEqual(pipelines.map(({ id, status }) => [id, 1, status, false]))
    world.api.asked.length = 0
    await world.pass(10 * minute)
    expect(world.api.asked.map(({ path }) => path)).toContain('/projects/333/pipelines')
  })

  it('looks up silent runs without delaying finished runs', async () => {
    await using world = await openPolledWorld({
      hook: ({ kind, pipelineId, body }) =>
        kind === 'pipeline' && (pipelineId % 2 === 0 || hasNotEnded({ kind, pipelineId, body } as Delivery)),
      perMinute: 12,
    })
    const pipelines = Array.from({ length: 12 }, () => beginLong(world, 30 * second))
    await world.pass(90 * second)
    const observed = pipelines.filter(({ id }) => id % 2 === 0).map(({ id }) => id)
    expect((await world.sent()).map(({ key }) => key.pipelineId)).toEqual(observed)
    await world.pass(hour)
    expect(await world.sent()).toHaveLength(pipelines.length - observed.length)
  })

  it('does not look up a silent run without an API token', async () => {
    await using world = await openPolledWorld({ ...endsAreLost, enrich: false })
    begin(world, 'branch')
    await world.pass(day, minute)
    expect(world.api.asked).toEqual([])
    expect(await world.sent()).toEqual([])
  })

  it('looks up a silent run once and exports it as it is if the platform no longer has it', async () => {
    await using world = await openPolledWorld(endsAreLost)
    world.api.misbehave = ({ path }) => (path.includes('/pipelines/') ? restFaults.notFound('Pipeline') : undefined)
    const pipeline = begin(world, 'branch')
    await world.pass(hour)
    expect(ended(await world.sent())).toEqual([[pipeline.id, 1, 'running', true]])
    expect(world.api.asked).toHaveLength(1)
    expect(world.logged.filter(({ msg }) => msg.includes('was deleted from the platform'))).toHaveLength(1)
  })

  it('looks up a silent run again after a day-long outage of the platform', async () => {
    await using world = await openPolledWorld(endsAreLost)
    world.api.misbehave = () => restFaults.broken()
    const pipeline = begin(world, 'branch')
    await world.pass(2 * day, 10 * minute)
    world.api.misbehave = () => undefined
    await world.pass(2 * hour, minute)
    expect(ended(await world.sent())).toEqual([[pipeline.id, 1, pipeline.status, false]])
  })
})

describe('a long-running pipeline', () => {
  it('looks up a long run at growing intervals, from two minutes up to an hour', async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' })
    beginLong(world, 30 * hour)
    const times = await askedAt(world, day, minute)
    const pauses = times.slice(1).map((at, index) => at - times[index]!)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(2 * minute)
    // If a busy machine has to repeat a request, the lookup is a second late, so the pauses are rounded to minutes.
    const minutes = pauses.slice(2).map(pause => Math.round(pause / minute))
    expect(minutes).toEqual(minutes.toSorted((a, b) => a - b))
    expect(minutes.at(-1)).toBe(60)
    expect(times.length).toBeGreaterThan(20)
    expect(times.length).toBeLessThan(40)
  })

  it('does not look up a run until it takes longer than other pipelines of its project', async () => {
    const pastDurations = { of: async () => ({ [binOf(40 * minute)]: 20 }) }
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline', pastDurations })
    beginLong(world, 2 * hour)
    const times = await askedAt(world, 90 * minute, minute)
    const start = world.now() - 90 * minute
    expect(times[0]! - start).toBeGreaterThanOrEqual(38 * minute)
    expect(times[0]! - start).toBeLessThanOrEqual(45 * minute)
  })

  it('does not look up a run while it is waiting for a manual job', async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' })
    begin(world, 'blocked')
    await world.pass(day, 5 * minute)
    expect(world.api.asked).toEqual([])
  })
})
