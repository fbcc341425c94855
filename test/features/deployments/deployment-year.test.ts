// Counts a year of simulated deployments, whose figures are known: they must be counted exactly, in whatever order they are reported.
import { beforeEach, describe, expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { committedAt, DeploymentBench, project, range, sha } from './deployment-bench.ts'
import { countIn, spanOf } from './reported.ts'
import { day, hour, instance, minute, t0 } from '../../flow/world.ts'
import { deployments as storedDeployments } from '../../../src/features/deployments/sql/deployments.ts'
import { isFull } from '../../full.ts'
import { longBounds } from '../../../src/model/totals.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { Random } from '../../../src/simulator/platform/random.ts'

/** The time between two deployments of an environment. In the long form there are about three a day. */
const apart = isFull ? { from: 2 * hour, to: 14 * hour } : { from: 3 * day, to: 15 * day }

interface Made {
  readonly id: number
  readonly environment: 'production' | 'staging'
  readonly status: 'success' | 'failed' | 'canceled'
  readonly startedAt: number
  readonly at: number
  /** The number of the deployed revision. A higher number is a newer revision. */
  readonly revision: number
}

/** Returns a year of deployments to production, and to staging in between. */
function year(random: Random): Made[] {
  const made: Made[] = []
  let id = 0
  for (const environment of ['production', 'staging'] as const) {
    let at = t0 + (environment === 'staging' ? 11 * minute : 0)
    let revision = 100
    const good: number[] = []
    while (at < t0 + 365 * day) {
      const status = random.chance(0.15) ? 'failed' : random.chance(0.05) ? 'canceled' : 'success'
      const isBack = status === 'success' && good.length > 2 && random.chance(0.15)
      if (!isBack && random.chance(0.9)) revision += Math.round(random.between(1, 9))
      // Some deployments have more commits than the counter's maximum.
      if (random.chance(0.005)) revision += 600
      const own = isBack ? good.at(-2)! : revision
      if (status === 'success') good.push(own)
      made.push({
        id: (id += 1),
        environment,
        status,
        at,
        startedAt: at - Math.round(random.between(5_000, 900_000)),
        revision: own,
      })
      at += Math.round(random.between(apart.from, apart.to))
    }
  }
  return made
}

interface Truth {
  count: number
  durations: number
  rollbacks: number
  recoveries: number[]
  leadTimes: number[]
  requests: number
  last: number
}

/** Computes the expected figures independently of the counter, in one pass over the deployments in order. */
function truthOf(made: readonly Made[], environment: string): Truth {
  const truth: Truth = { count: 0, durations: 0, rollbacks: 0, recoveries: [], leadTimes: [], requests: 0, last: 0 }
  const seen = new Set<number>()
  let previous: Made | undefined
  let broken: number | undefined
  for (const one of made.filter(each => each.environment === environment && each.status !== 'canceled')) {
    truth.count += 1
    truth.durations += one.at - one.startedAt
    if (one.status === 'failed') {
      broken ??= one.at
      continue
    }
    const isRollback =
      previous !== undefined &&
      one.revision !== previous.revision &&
      (seen.has(one.revision) || one.revision < previous.revision)
    if (isRollback) truth.rollbacks += 1
    const since = isRollback ? previous!.at : broken
    if (since !== undefined) truth.recoveries.push((one.at - since) / 1_000)
    if (environment === 'production' && previous !== undefined && one.revision !== previous.revision) {
      const commits = range(previous.revision, one.revision).slice(0, 500)
      truth.leadTimes.push(
        ...commits.flatMap(each => (committedAt(each) <= one.at ? (one.at - committedAt(each)) / 1_000 : [])),
      )
      truth.requests += Math.max(1, Math.min(5, Math.ceil((one.revision - previous.revision) / 100)))
    }
    if (previous !== undefined) seen.add(previous.revision)
    previous = one
    broken = undefined
    truth.last = one.at / 1_000
  }
  return truth
}

/** Returns the reports of one deployment: its webhook events, its job, or both. Some reports are duplicated. */
function reports(one: Made, random: Random): Deployment[] {
  const event = (status: string, at: number): Deployment => ({
    ...{ instance, project, jobId: one.id * 10, deploymentId: one.id },
    event: observedEvent({
      status,
      at,
      environment: one.environment,
      tier: one.environment,
      revision: sha(one.revision),
      ...(status === 'running' && { beganAt: at }),
    }),
  })
  const job: Deployment = {
    ...{ instance, project, jobId: one.id * 10 },
    job: {
      ...{
        status: one.status,
        environment: one.environment,
        tier: one.environment,
        startedAt: one.startedAt,
        finishedAt: one.at,
      },
      ...{ revision: sha(one.revision), committedAt: committedAt(one.revision) },
      span: spanOf(one.id * 10, one.id),
    },
  }
  const events = [event('created', one.startedAt), event('running', one.startedAt), event(one.status, one.at)]
  const which = one.status === 'success' ? Math.floor(random.between(0, 3)) : Math.floor(random.between(1, 3))
  const observed = which === 0 ? [job] : which === 1 ? events : [...events, job]
  return [...observed, ...observed.filter(() => random.chance(0.2))]
}

describe.each(bothDatabases())('counting a year of deployments on %s', (name, open) => {
  let bench: DeploymentBench

  beforeEach(async () => {
    const here = closeAfterTest(await open())
    bench = new DeploymentBench(here, await here.open())
  })

  it('counts a year of shuffled and duplicated deployments exactly, with one request for each deployment that may have new commits', async () => {
    const random = new Random(21)
    const made = year(random)
    const observed = random.shuffle(made.flatMap(one => reports(one, random)))
    for (let at = 0; at < observed.length; at += 500) await bench.report(...observed.slice(at, at + 500))
    bench.here.move(countIn)
    const counter = bench.counter()
    await counter.drain()
    expect(counter.counters.counted).toBe(made.filter(({ status }) => status !== 'canceled').length)
    let requests = 0
    for (const environment of ['production', 'staging']) {
      const truth = truthOf(made, environment)
      expect(truth.rollbacks * truth.recoveries.length).toBeGreaterThan(0)
      requests += truth.requests
      const counts = await bench.total('platform.deployment.count', environment)
      expect(counts.reduce((sum, one) => sum + (one.kind === 'sum' ? one.by : 0), 0)).toBe(truth.count)
      const [duration] = await bench.total('platform.deployment.duration', environment)
      expect(duration).toMatchObject({ count: truth.count })
      expect((duration as { sum: number }).sum).toBeCloseTo(truth.durations / 1_000, 3)
      expect(await bench.total('platform.deployment.rollback.count', environment)).toMatchObject([
        { by: truth.rollbacks },
      ])
      expect(await bench.total('platform.deployment.last.timestamp', environment)).toMatchObject([
        { value: truth.last },
      ])
      const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
      const [recovery] = await bench.total('platform.deployment.recovery_time', environment)
      expect(recovery).toMatchObject({ count: truth.recoveries.length, bounds: longBounds })
      expect((recovery as { sum: number }).sum).toBeCloseTo(sum(truth.recoveries), 3)
      const lead = await bench.total('platform.deployment.lead_time', environment, '"commit"')
      expect(lead).toHaveLength(environment === 'production' ? 1 : 0)
      if (lead[0]?.kind !== 'histogram') continue
      expect(lead[0].count).toBe(truth.leadTimes.length)
      expect(lead[0].sum).toBeCloseTo(sum(truth.leadTimes), 1)
    }
    expect([bench.asked.requests, counter.counters.commitRequests]).toEqual([requests, requests])
    // Each deployment is counted once: nothing more is due, whatever is reported again.
    await bench.report(...observed.slice(0, 500))
    bench.here.move(day)
    await counter.drain()
    expect(bench.asked.requests).toBe(requests)
  })

  it('counts and compares each deployment once if two replicas count at the same time', async () => {
    const random = new Random(22)
    const made = year(random)
    const observed = random.shuffle(made.flatMap(one => reports(one, random)))
    for (let at = 0; at < observed.length; at += 500) await bench.report(...observed.slice(at, at + 500))
    bench.here.move(countIn)
    // An SQLite file may be served by only one process.
    const other = name === 'PostgreSQL' ? await bench.here.open() : bench.store
    const counters = [bench.counter(), bench.counter({ deployments: other.on(storedDeployments) })]
    const { promise: both, resolve: areBoth } = Promise.withResolvers<undefined>()
    bench.asked.until = both.then(() => undefined)
    const drained = Promise.all(counters.map(async counter => counter.drain()))
    // Each of the two counters has at most four requests in flight, so more than four show that both are counting. The test responds to no request before
    // that.
    await expect.poll(() => bench.asked.requests).toBeGreaterThan(4)
    areBoth(undefined)
    await drained
    if (other !== bench.store) await other.close()
    const own = counters.map(({ counters: { counted } }) => counted)
    expect(own.reduce((sum, one) => sum + one, 0)).toBe(made.filter(({ status }) => status !== 'canceled').length)
    expect(Math.min(...own)).toBeGreaterThan(0)
    for (const environment of ['production', 'staging']) {
      const truth = truthOf(made, environment)
      expect(await bench.total('platform.deployment.rollback.count', environment)).toMatchObject([
        { by: truth.rollbacks },
      ])
      const [recovery] = await bench.total('platform.deployment.recovery_time', environment)
      expect(recovery).toMatchObject({ count: truth.recoveries.length })
    }
  })
})
