// Repeatedly kills a daemon that reads job internals: log sections, log lines, test results, reports, and spans that jobs recorded themselves. All of
// them arrive and are counted. Nothing arrives twice, except data whose request to the backend was cut off by a kill. The number of requests to the
// platform stays within a limit.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { arrivals, numberProcess } from './arrivals.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import {
  deadline,
  eventOf,
  found,
  kindOf,
  ownSpanPath,
  requests,
  size,
  startInsidePlatform,
} from './inside-platform.ts'
import { insidePoints, momentsOn, nameOf, type Engine, type Moment } from './points.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { shiftClock } from '../core/store/postgres-server.ts'
import type { ReceivedLogRecord, ReceivedMetric } from '../support/otlp-decode.ts'

const seed = isFull ? Number(process.env.PIPESPAN_TEST_SEED ?? Date.now() % 1_000_000) : 8
/** Number of kills at random times rather than at named moments. */
const anyTime = isFull ? 12 : 1
const timeoutMs = isFull ? 3_600_000 : 900_000
/** Number of concurrent requests to the platform, for enrichment and for job internals. A kill can cut off this many. */
const concurrency = { enrichment: 8, inside: 4 }
/** How long the leases of a dead process last on PostgreSQL with this test's timeout, ms. */
const maxLease = 1_500_000

/**
 * Returns the moments at which the daemon is killed: before and after each point in the flow of job internals. The short form uses three points, and
 * kills the daemon either before or after each. The point that is reached only a limited number of times comes first. (`points.test.ts` kills the
 * daemon in the snapshot's transaction, which precedes these points.)
 */
function momentsOf(engine: Engine): Moment[] {
  const rank = ({ point }: Moment): number => (point.name.includes('names') ? 0 : 1)
  return momentsOn(engine, insidePoints)
    .filter((_, at) => isFull || [3, 8, 11].includes(at))
    .sort((a, b) => rank(a) - rank(b))
}

it.each<Engine>(isFull ? ['sqlite', 'postgres'] : ['sqlite'])(
  'exports and counts the internals of every selected job once on %s, however often the daemon is killed',
  async engine => {
    const random = new Random(seed)
    await using platform = await startInsidePlatform()
    const receiver = closeAfterTest(await OtlpReceiver.start())
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 20 })
    const storeUrl = engine === 'postgres' ? await newDatabase() : undefined
    const killSwitch = storeUrl === undefined ? 'kill-switch.ts' : 'kill-switch-postgres.ts'
    let processNumber = 1
    const daemon = await Daemon.start(
      {
        ...numberProcess(processNumber),
        ...(storeUrl !== undefined && { PIPESPAN_STORE_URL: storeUrl }),
        ...{
          PIPESPAN_PLATFORM_URL: platform.url,
          PIPESPAN_PLATFORM_TOKEN: 'for-tests-alone',
          PIPESPAN_PLATFORM_BUDGET: '100000',
          PIPESPAN_ENRICH_DEADLINE: `${deadline}ms`,
        },
        ...{ PIPESPAN_JOB_SECTIONS: 'failed', PIPESPAN_JOB_LOGS: 'failed', PIPESPAN_JOB_SPANS: ownSpanPath },
        ...{ PIPESPAN_TESTS: 'true', PIPESPAN_TESTS_SPANS: 'suites' },
        ...{ PIPESPAN_REPORTS: 'metrics,dotenv,coverage,findings', PIPESPAN_DOTENV_KEYS: 'VERSION' },
        ...{ SERVICE_OBSERVABILITY_EXPORT: 'traces,logs,metrics', PIPESPAN_METRICS_INTERVAL: '500ms' },
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      },
      ['--import', new URL(killSwitch, import.meta.url).href],
    )
    const post = async (id: number): Promise<void> => {
      const body = JSON.stringify(eventOf(id)).replaceAll('https://git.example.com', platform.url)
      const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `pipeline ${id}` }
      // A delivery without a response is sent again with the same key.
      while ((await daemon.post(body, headers).catch(() => undefined))?.ok !== true) await sleep(50)
    }
    const moments = momentsOf(engine)
    const kills = moments.length + anyTime
    const queue = Array.from({ length: size.pipelines }, (_, index) => index + 1)
    /** Number of pipelines that are released for each process of the daemon, so that each process has work and reaches the moment of its kill. */
    const share = Math.ceil(size.pipelines / (kills + 1))
    let released = share
    const work = async (): Promise<void> => {
      while (queue.length > 0) {
        if (size.pipelines - queue.length < released) await post(queue.pop() ?? 0)
        else await sleep(50)
      }
    }
    /** Returns the environment of the next process. Sets the clock forward, so that the leases of the dead process expire at once. */
    const nextEnv = async (): Promise<NodeJS.ProcessEnv> => {
      processNumber += 1
      released += share
      if (storeUrl !== undefined) await shiftClock(storeUrl, processNumber * maxLease)
      return numberProcess(processNumber)
    }
    const load = Promise.all([work(), work(), work()])
    // The first process is killed at a random time, after it has begun to fill the queue.
    await sleep(random.between(50, 600))
    await daemon.kill()
    for (const moment of moments) {
      const isRare = ['names', 'details'].some(word => moment.point.name.includes(word))
      // The daemon is killed at the first or second occurrence. A later one might never come, because one transaction can cover many pipelines, so
      // that a process needs only a few transactions for its share.
      const nth = isFull && !isRare ? random.whole(1, 2) : 1
      await daemon.startAgain({ ...(await nextEnv()), CRASH_AT: nameOf(moment), CRASH_NTH: String(nth) })
      expect(await daemon.process.ended).toMatchObject({ signal: 'SIGKILL' })
      expect(daemon.process.stderr).toContain(`killed ${nameOf(moment)}\n`)
    }
    for (let kill = 1; kill < anyTime; kill += 1) {
      await daemon.restart({ ...(await nextEnv()), CRASH_AT: undefined })
      await sleep(random.between(50, 3_000))
      await daemon.kill()
    }
    await daemon.restart({ ...(await nextEnv()), CRASH_AT: undefined })
    await load
    const { log, tests, reports } = found
    const counts = { tested: size.pipelines * size.tested, reporting: size.pipelines * size.reporting }
    const spans = requests.log * log.spans + counts.tested * tests.spans + counts.reporting * reports.spans
    const records = requests.log * log.records + counts.tested * tests.records + counts.reporting * reports.records
    const cases = times(tests.cases, counts.tested)
    const findings = times(reports.findings, counts.reporting)
    const inside = <T extends { readonly scope: { readonly name: string } }>(all: readonly T[]): T[] =>
      all.filter(({ scope }) => scope.name.startsWith('pipespan.job'))
    const counted = () => ({
      cases: sumOf(receiver.metrics, 'platform.test.case.count', 'platform.test.case.result'),
      findings: sumOf(receiver.metrics, 'platform.report.findings', 'platform.report.severity'),
    })
    // The exact count is expensive and this check runs at every request, so a rough count comes first.
    const isComplete = (): boolean =>
      receiver.spans.length >= size.pipelines * (1 + size.jobs) + spans &&
      receiver.logs.length >= records &&
      new Set(inside(receiver.spans).map(({ spanId }) => spanId)).size >= spans &&
      new Set(inside(receiver.logs).map(recordOf)).size >= records &&
      (counted().cases.pass ?? 0) >= cases.pass &&
      (counted().findings.minor ?? 0) >= findings.minor
    await receiver.until(isComplete, timeoutMs)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })

    const { once, repeated, unexplained } = arrivals(receiver.requests)
    expect(unexplained).toEqual([])
    const own = inside(once)
    expect(own).toHaveLength(spans)
    const jobs = new Set(once.filter(({ name }) => name.startsWith('job: ')).map(({ spanId }) => spanId))
    expect(jobs.size).toBe(size.pipelines * size.jobs)
    const parents = new Set([...jobs, ...own.filter(({ name }) => name === 'build').map(({ spanId }) => spanId)])
    expect(own.every(({ parentSpanId }) => parents.has(parentSpanId ?? ''))).toBe(true)
    for (const [name, some] of Map.groupBy(receiver.requests, ({ headers }) => String(headers['x-process']))) {
      const sent = inside(some.flatMap(({ logs }) => logs)).map(recordOf)
      expect([name, new Set(sent).size]).toEqual([name, sent.length])
    }
    expect(new Set(inside(receiver.logs).map(recordOf)).size).toBe(records)
    expect(counted()).toEqual({ cases, findings })
    const gauges = new Set(receiver.metrics.map(({ name }) => name).filter(name => name.startsWith('platform.report.')))
    expect([...gauges].filter(name => name.includes('size_'))).toHaveLength(Math.min(40, size.pipelines))
    expect(gauges).toContain('platform.report.coverage')

    const asked = Map.groupBy(platform.asked, kindOf)
    const count = (kind: ReturnType<typeof kindOf>): number => asked.get(kind)?.length ?? 0
    for (const [kind, needed] of Object.entries(requests) as [keyof typeof requests, number][]) {
      const isEnrichment = kind === 'jobs' || kind === 'bridges'
      const most = needed + (isEnrichment ? concurrency.enrichment : concurrency.inside) * kills
      expect([kind, count(kind) >= needed, count(kind) <= most]).toEqual([kind, true, true])
    }
    // If a pipeline's details are requested after its export, the pipeline itself is requested too. The enrichment deadline is so short that on a
    // busy machine this may happen for every pipeline.
    expect(count('pipeline')).toBeLessThanOrEqual(size.pipelines + concurrency.enrichment * kills)
    const plan = Object.values(requests).reduce((sum, one) => sum + one, 0) / size.pipelines
    const perPipeline = (platform.asked.length - count('poll')) / size.pipelines
    if (isFull) report({ engine, seed, kills, pipelines: size.pipelines, plan, perPipeline, spans, records, repeated })
  },
  timeoutMs,
)

/** Returns a string that identifies a log record of a job. */
function recordOf({ attributes, eventName }: ReceivedLogRecord): string {
  const keys = ['cicd.pipeline.task.run.id', 'platform.cicd.pipeline.task.log.line', 'test.case.name']
  return JSON.stringify([eventName, ...keys.map(key => attributes[key])])
}

function times<Counts extends Record<string, number>>(counts: Counts, by: number): Counts {
  return Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count * by])) as Counts
}

/** Returns the final values of a counter, summed over all series that have the same value of the attribute `by`. */
function sumOf(metrics: readonly ReceivedMetric[], counter: string, by: string): Record<string, number> {
  const series = new Map<string, { readonly result: string; readonly value: number }>()
  for (const { name, resource, points } of metrics) {
    if (name !== counter) continue
    for (const point of points) {
      const result = point.attributes[by]
      if (!('value' in point) || typeof result !== 'string') continue
      const { attributes, value } = point
      const key = JSON.stringify([resource.attributes, attributes], (_, one: unknown) =>
        typeof one === 'bigint' ? String(one) : one,
      )
      const before = series.get(key)?.value ?? 0
      // Totals never decrease, whichever process sends them.
      expect(Number(value)).toBeGreaterThanOrEqual(before)
      series.set(key, { result, value: Number(value) })
    }
  }
  const counts: Record<string, number> = {}
  for (const { result, value } of series.values()) counts[result] = (counts[result] ?? 0) + value
  return counts
}
