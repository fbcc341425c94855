// Tests the counting of deployments: a year of simulated deployments, whose figures are known, is counted exactly, in whatever order the deployments
// are reported.
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { countIn, countingOn, delta, report as reportAll, spanOf } from './reported.ts'
import { chunkOf } from '../../support/of-run.ts'
import { wholeInstance } from '../../../src/model/territory.ts'
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createCapabilities } from '../../../src/core/complete/capability.ts'
import { createCommitsReading, createDeploymentCounter } from '../../../src/features/deployments/deployment-counter.ts'
import type { DeploymentCounter } from '../../../src/features/deployments/deployment-counter.ts'
import { isProduction, observedEvent } from '../../../src/features/deployments/model/deployment.ts'
import type { IsProduction, Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { day, hour, instance, minute, t0 } from '../../flow/world.ts'
import { isFull } from '../../full.ts'
import { longBounds } from '../../../src/model/totals.ts'
import { PlatformError, type Commit, type PlatformClient } from '../../../src/platform/port.ts'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { isEvent } from '../../../src/model/event.ts'
import type {
  DeploymentFigures,
  LeadTimeDefinition,
} from '../../../src/features/deployments/model/deployment-figures.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const project = { id: 3, name: 'shop', path: 'acme/shop' }
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

/** Simulates a repository whose main branch gets one commit an hour, authored a minute before it is committed. */
const sha = (revision: number): string => revision.toString(16).padStart(40, '0')
const committedAt = (revision: number): number => t0 - 30 * day + revision * hour
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at + 1)

interface Asked {
  readonly ranges: string[]
  requests: number
  fail: PlatformError | undefined
  /** A promise that delays the platform's responses. */
  until: Promise<void> | undefined
}

function platformOf(asked: Asked): Pick<PlatformClient, 'commits'> {
  return {
    commits: async function* (_project, { from, to, firstParent }, { onSend }) {
      asked.ranges.push(`${from}..${to}`)
      const all = range(parseInt(from, 16), parseInt(to, 16)).filter(one => firstParent !== true || one % 2 === 0)
      for (let at = 0; at === 0 || at < all.length; at += 100) {
        onSend?.()
        asked.requests += 1
        await asked.until
        if (asked.fail !== undefined) throw asked.fail
        const items = all.slice(at, at + 100).map((one): Commit => ({
          committedAt: committedAt(one),
          authoredAt: committedAt(one) - minute,
        }))
        yield { items }
      }
    },
  }
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

describe.each(bothDatabases())('counting deployments on %s', (name, bench) => {
  let here: BareBench
  let store: Store
  let asked: Asked
  let errors: unknown[]
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    asked = { ranges: [], requests: 0, fail: undefined, until: undefined }
    errors = []
  })

  function counterOn(
    definition: LeadTimeDefinition = 'commit',
    platform = true,
    deployments = store.on(storedDeployments),
    decides: IsProduction = isProduction,
  ): DeploymentCounter {
    const reading = createCommitsReading(
      platformOf(asked),
      createCapabilities(store.repositories.refusedEndpoints, instance),
      definition,
    )
    const token = { territory: wholeInstance(instance), readCommits: reading, errors: createErrorThrottle(silentLog()) }
    return createDeploymentCounter({
      ...countingOn({ now: () => here.now() }),
      ...{ deployments, isProduction: decides, tokens: platform ? [token] : [] },
      log: pino({}, { write: line => errors.push(JSON.parse(line)) }),
    })
  }

  const report = async (...deployments: readonly Deployment[]): Promise<void> =>
    reportAll(store, deploymentReporter, deployments, countIn)

  /** Returns a metric's totals in an environment: the value, or a histogram's count and sum. */
  async function total(metric: string, environment: string, more = '') {
    const { projects } = await store.totals.read(10)
    const series = projects
      .flatMap(one => one.series)
      .filter(
        one => one.metric === metric && one.attributes.includes(`"${environment}"`) && one.attributes.includes(more),
      )
    return series.map(({ amount }) =>
      amount.kind === 'histogram' ? { ...amount, count: amount.counts.reduce((a, b) => a + b, 0) } : amount,
    )
  }

  const event = (
    id: number,
    status: string,
    at: number,
    more: { environment?: string | undefined; revision?: number } = {},
  ): Deployment => ({
    ...{ instance, project, deploymentId: id },
    event: observedEvent({
      status,
      at,
      environment: 'environment' in more ? more.environment : 'production',
      revision: sha(more.revision ?? id),
    }),
  })

  it('counts a year of shuffled and duplicated deployments exactly, with one request for each deployment that may have new commits', async () => {
    const random = new Random(21)
    const made = year(random)
    const observed = random.shuffle(made.flatMap(one => reports(one, random)))
    for (let at = 0; at < observed.length; at += 500) await report(...observed.slice(at, at + 500))
    here.move(countIn)
    const counter = counterOn()
    await counter.drain()
    expect(counter.counters.counted).toBe(made.filter(({ status }) => status !== 'canceled').length)
    let requests = 0
    for (const environment of ['production', 'staging']) {
      const truth = truthOf(made, environment)
      expect(truth.rollbacks * truth.recoveries.length).toBeGreaterThan(0)
      requests += truth.requests
      const counts = await total('platform.deployment.count', environment)
      expect(counts.reduce((sum, one) => sum + (one.kind === 'sum' ? one.by : 0), 0)).toBe(truth.count)
      const [duration] = await total('platform.deployment.duration', environment)
      expect(duration).toMatchObject({ count: truth.count })
      expect((duration as { sum: number }).sum).toBeCloseTo(truth.durations / 1_000, 3)
      expect(await total('platform.deployment.rollback.count', environment)).toMatchObject([{ by: truth.rollbacks }])
      expect(await total('platform.deployment.last.timestamp', environment)).toMatchObject([{ value: truth.last }])
      const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
      const [recovery] = await total('platform.deployment.recovery_time', environment)
      expect(recovery).toMatchObject({ count: truth.recoveries.length, bounds: longBounds })
      expect((recovery as { sum: number }).sum).toBeCloseTo(sum(truth.recoveries), 3)
      const lead = await total('platform.deployment.lead_time', environment, '"commit"')
      expect(lead).toHaveLength(environment === 'production' ? 1 : 0)
      if (lead[0]?.kind !== 'histogram') continue
      expect(lead[0].count).toBe(truth.leadTimes.length)
      expect(lead[0].sum).toBeCloseTo(sum(truth.leadTimes), 1)
    }
    expect([asked.requests, counter.counters.commitRequests]).toEqual([requests, requests])
    // Each deployment is counted once: nothing more is due, whatever is reported again.
    await report(...observed.slice(0, 500))
    here.move(day)
    await counter.drain()
    expect(asked.requests).toBe(requests)
  })

  it('counts and compares each deployment once if two replicas count at the same time', async () => {
    const random = new Random(22)
    const made = year(random)
    const observed = random.shuffle(made.flatMap(one => reports(one, random)))
    for (let at = 0; at < observed.length; at += 500) await report(...observed.slice(at, at + 500))
    here.move(countIn)
    // An SQLite file may be served by only one process.
    const other = name === 'PostgreSQL' ? await here.open() : store
    const counters = [counterOn(), counterOn('commit', true, other.on(storedDeployments))]
    const { promise: both, resolve: areBoth } = Promise.withResolvers<undefined>()
    asked.until = both.then(() => undefined)
    const drained = Promise.all(counters.map(async counter => counter.drain()))
    // Each of the two counters has at most four requests in flight, so more than four show that both are counting. The test answers no request before
    // that.
    await expect.poll(() => asked.requests).toBeGreaterThan(4)
    areBoth(undefined)
    await drained
    if (other !== store) await other.close()
    const own = counters.map(({ counters: { counted } }) => counted)
    expect(own.reduce((sum, one) => sum + one, 0)).toBe(made.filter(({ status }) => status !== 'canceled').length)
    expect(Math.min(...own)).toBeGreaterThan(0)
    for (const environment of ['production', 'staging']) {
      const truth = truthOf(made, environment)
      expect(await total('platform.deployment.rollback.count', environment)).toMatchObject([{ by: truth.rollbacks }])
      const [recovery] = await total('platform.deployment.recovery_time', environment)
      expect(recovery).toMatchObject({ count: truth.recoveries.length })
    }
  })

  it('counts the other deployments of a batch once each if some rows of the batch are damaged', async () => {
    await report(...[1, 2, 3, 4, 5].map(id => event(id, 'success', t0 + id, { environment: 'staging' })))
    // The first row is not JSON. The second row is JSON, but not a deployment.
    await here.sql(`UPDATE deployments SET content = '{"half": ' WHERE deployment_id = 2`)
    const wrong = JSON.stringify({
      instance,
      project,
      job: { status: 'success', environment: 'staging', finishedAt: 4, span: {} },
    })
    await here.sql(`UPDATE deployments SET content = '${wrong}' WHERE deployment_id = 4`)
    here.move(countIn)
    const counter = counterOn()
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 3, passedOver: 0 })
    expect(errors).toMatchObject([{ deployment: 4, msg: 'a deployment could not be counted' }])
    expect(await total('platform.deployment.count', 'staging')).toMatchObject([{ by: 3 }])
    // Once the row is repaired, the deployment is counted when its lease expires.
    const whole = JSON.stringify(event(4, 'success', t0 + 4, { environment: 'staging' }))
    await here.sql(`UPDATE deployments SET content = '${whole}' WHERE deployment_id = 4`)
    here.move(hour)
    await counter.drain()
    expect(await total('platform.deployment.count', 'staging')).toMatchObject([{ by: 4 }])
  })

  it('does not let requests for commits delay deployments that need none', async () => {
    const many = Array.from({ length: 50 }, (_, at) => at + 1)
    let answer = (): void => undefined
    asked.until = new Promise(resolve => {
      answer = resolve
    })
    await report(...many.map(id => event(id, 'success', t0 + id * minute)))
    here.move(countIn)
    const counter = counterOn()
    counter.start()
    try {
      await expect.poll(() => asked.requests).toBe(4)
      await report(...many.map(id => event(100 + id, 'success', t0 + id * minute, { environment: 'staging' })))
      here.move(countIn)
      // The 50 staging deployments are counted, and so is the first one to production: it needs no commits, because it has no previous deployment.
      await expect.poll(() => counter.counters.counted).toBe(51)
      expect(asked.requests).toBe(4)
      answer()
      await expect.poll(() => counter.counters.counted).toBe(100)
      expect(await total('platform.deployment.lead_time', 'production')).toMatchObject([{ count: 49 }])
    } finally {
      answer()
      await counter.stop()
    }
  })

  it('exports each deployment once as delta points, with the definition of its lead time', async () => {
    await report(event(1, 'success', t0, { revision: 10 }), event(2, 'success', t0 + 30 * day, { revision: 14 }))
    here.move(countIn)
    await counterOn('merge').drain()
    const { items } = await store.outbox.lease(delta, 10, minute)
    const figures = items
      .map(chunkOf)
      .flatMap(chunk => (isEvent(chunk) ? ((chunk.figures as DeploymentFigures | undefined) ?? []) : []))
    expect(figures.map(({ definition, leadTimes }) => [definition, leadTimes?.length])).toEqual([
      [undefined, undefined],
      ['merge', 2],
    ])
  })

  it('exports a deployment whose row reuses the id of a deleted row', async () => {
    const job = { status: 'failed', span: spanOf(10, 1) }
    await report({ instance, project, jobId: 10, job }, event(1, 'success', t0))
    here.move(countIn)
    await counterOn().drain()
    // This event shows that the job and the earlier event report the same deployment, so their two rows are merged into the first one.
    await report({ ...event(1, 'success', t0), jobId: 10 })
    await report(event(2, 'success', t0 + minute))
    here.move(countIn)
    await counterOn().drain()
    expect(await total('platform.deployment.count', 'production')).toMatchObject([{ by: 2 }])
    expect((await store.outbox.lease(delta, 10, minute)).items).toHaveLength(2)
  })

  it('counts the lead times of commits that are deployed again after a rollback', async () => {
    const counter = counterOn()
    const revisions = [10, 13, 10, 13, 15]
    await report(...revisions.map((revision, n) => event(n + 1, 'success', t0 + n * hour, { revision })))
    here.move(countIn)
    await counter.drain()
    const between = (from: number, to: number) => `${sha(from)}..${sha(to)}`
    // The ranges are sorted, because several are requested concurrently.
    expect(asked.ranges.sort()).toEqual([between(10, 13), between(10, 13), between(13, 10), between(13, 15)])
    const [leadTimes] = await total('platform.deployment.lead_time', 'production')
    expect(leadTimes).toMatchObject({ count: 3 + 0 + 3 + 2 })
    expect(await total('platform.deployment.rollback.count', 'production')).toMatchObject([{ by: 2 }])
    await counter.stop()
  })

  it('counts a deployment that is reported after a later one was counted, without comparing their commits', async () => {
    await report(event(1, 'failed', t0), event(3, 'success', t0 + 2 * hour))
    here.move(countIn)
    await counterOn().drain()
    await report(event(2, 'success', t0 + hour))
    here.move(countIn)
    await counterOn().drain()
    expect(await total('platform.deployment.count', 'production', 'succeeded')).toMatchObject([{ by: 2 }])
    expect(await total('platform.deployment.recovery_time', 'production')).toMatchObject([{ count: 1, sum: 7_200 }])
    expect(asked.ranges).toEqual([])
  })

  it('ignores deployments that neither succeeded nor failed, and those whose environment is named neither by their event nor by their job', async () => {
    const [job] = reports(
      { id: 4, environment: 'production', status: 'success', at: t0, startedAt: t0 - minute, revision: 4 },
      new Random(1),
    ).filter(one => one.job)
    const nowhere = { ...event(4, 'success', t0, { environment: undefined }), jobId: 40 }
    await report(
      event(1, 'success', t0, { environment: undefined }),
      event(2, 'canceled', t0),
      event(3, 'running', t0),
      nowhere,
    )
    if (job !== undefined) await report(job)
    here.move(countIn)
    const counter = counterOn()
    await counter.drain()
    expect(counter.counters).toMatchObject({
      counted: job === undefined ? 0 : 1,
      passedOver: job === undefined ? 2 : 1,
    })
  })

  it('defers counting a deployment while the platform does not respond, then counts it without commits', async () => {
    const down = new PlatformError({ kind: 'unavailable', what: 'It is down.', remedy: 'Wait.' })
    asked.fail = down
    await report(event(1, 'success', t0), event(2, 'success', t0 + hour))
    here.move(countIn)
    const counter = counterOn()
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 1, withoutCommits: 0 })
    for (let tries = 0; tries < 10; tries += 1) {
      here.move(2 * hour)
      await counter.drain()
    }
    expect(counter.counters).toMatchObject({ counted: 2, withoutCommits: 1 })
    expect(asked.requests).toBe(8)
    asked.fail = new PlatformError({
      kind: 'not-found',
      what: '404',
      remedy: '',
      status: 404,
      detail: '404 Commit Not Found',
    })
    await report(event(3, 'success', t0 + 2 * hour))
    here.move(countIn)
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 3, withoutCommits: 2 })
  })

  it('requests commits only for environments that are configured as production', async () => {
    await report(event(1, 'success', t0), event(2, 'success', t0 + hour))
    here.move(countIn)
    await counterOn('commit', true, store.on(storedDeployments), () => false).drain()
    expect(asked.requests).toBe(0)
    expect(await total('platform.deployment.count', 'production', '.production":"true"')).toEqual([])
    const [count] = await total('platform.deployment.count', 'production', '.production":"false"')
    expect(count).toMatchObject({ by: 2 })
  })

  it('counts deployments without any request if no API is configured', async () => {
    await report(event(1, 'success', t0), event(2, 'success', t0 + hour))
    here.move(countIn)
    const counter = counterOn('commit', false)
    await counter.drain()
    expect([counter.counters.counted, asked.requests]).toEqual([2, 0])
    expect(await total('platform.deployment.lead_time', 'production')).toEqual([])
  })

  it("deletes old deployments, except each environment's current one", async () => {
    await report(event(1, 'success', t0), event(2, 'success', t0 + hour), event(3, 'failed', t0 + 2 * hour))
    expect(await store.on(storedDeployments).prune(t0 + day, 10)).toBe(0)
    here.move(countIn)
    await counterOn('commit', false).drain()
    expect(await store.on(storedDeployments).prune(t0 + day, 10)).toBe(2)
    expect(
      (await store.on(storedDeployments).current({ limit: 10 })).map(({ deployment }) => deployment.deploymentId),
    ).toEqual([2])
    expect(await store.on(storedDeployments).list({ since: 0, until: t0 + day, limit: 10 })).toHaveLength(1)
  })
})
