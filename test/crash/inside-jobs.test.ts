// The inside of jobs, read by a daemon that is killed again and again: every section, every line and everything about tests arrives and is
// counted, none twice but what a kill left unknown on its way to the backend; and what it costs the platform.
import { gzipSync } from 'node:zlib'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/demo/platform/random.ts'
import { answer, startPlatform, type Asked } from '../platform/rest/platform-server.ts'
import { arrivals, nameLife } from './arrivals.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { insidePoints, momentsOn, nameOf } from './points.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { repeated as junit } from '../platform/reports/junit-samples.ts'
import type { ReceivedLogRecord } from '../../src/demo/otlp-logs.ts'
import type { ReceivedMetric } from '../support/otlp-metrics.ts'

/** `tested`: jobs with a JUnit report, the last of them. `anyTime`: kills at no named moment. */
const size = isFull
  ? { pipelines: 1_000, jobs: 20, failed: 2, tested: 2, anyTime: 12 }
  : { pipelines: 30, jobs: 4, failed: 2, tested: 2, anyTime: 1 }
/** Each point on the way; in the short form from one of its sides, in turn. */
const moments = momentsOn('sqlite', insidePoints).filter((_, at) => isFull || at % 4 === 0 || at % 4 === 3)
const kills = moments.length + size.anyTime
const patience = isFull ? 1_800_000 : 300_000
/** Of a pipeline: its jobs and its bridges, a log for each failed job, a report for each that has one. */
const plan = 2 + size.failed + size.tested
/** Asked at the same time, by enrichment and about the inside of jobs: so many requests can the end of a life cut off. */
const places = { enrichment: 8, inside: 4 }

const erase = '\r\u001b[0K'
const sections = ['prepare_executor', 'get_sources', 'step_script'] as const
const log = [
  ...sections.flatMap(name => [
    `section_start:0:${name}${erase}About ${name}`,
    'a line',
    `section_end:0:${name}${erase}`,
  ]),
  'Job succeeded',
  '',
].join('\n')
const linesOfLog = 2 * sections.length + 1
/** What `junit` has: one suite; records of the report, of its failures and of its flaky tests; cases by result. */
const tested = { suites: 1, records: 4, cases: { pass: 2, fail: 1 } }

interface Build {
  readonly id: number
  readonly name: string
  readonly stage: string
  status: string
  readonly created_at: string
  readonly started_at: string
  readonly finished_at: string
}

function eventOf(id: number): { builds: Build[]; object_attributes: { sha: string } } {
  const event = JSON.parse(pipelineEvent({ id, jobs: size.jobs, status: 'failed' })) as ReturnType<typeof eventOf>
  for (const build of event.builds.slice(0, size.failed)) build.status = 'failed'
  // Each has a revision of its own: what failed in one pipeline is not compared with what passed in another.
  event.object_attributes.sha = id.toString(16).padStart(40, '0')
  return event
}

/** As the platform lists them. */
function listedJobs(id: number): string {
  const iso = (text: string): string => text.replace(' UTC', 'Z').replace(' ', 'T')
  return JSON.stringify(
    eventOf(id).builds.map((build, index) => ({
      ...build,
      ...{ created_at: iso(build.created_at), started_at: iso(build.started_at), finished_at: iso(build.finished_at) },
      artifacts:
        index < size.jobs - size.tested
          ? []
          : [{ file_type: 'junit', size: 900, filename: 'junit.xml.gz', file_format: 'gzip' }],
    })),
  )
}

/** What a request asks for. */
function kindOf({ path }: Asked): 'log' | 'report' | 'jobs' | 'bridges' | 'other' {
  if (path.endsWith('/trace')) return 'log'
  if (path.endsWith('/artifacts')) return 'report'
  if (path.endsWith('/bridges')) return 'bridges'
  return path.endsWith('/jobs') ? 'jobs' : 'other'
}

it(
  'puts out every section, line, test and count of the jobs it is to read once, however often it is killed',
  async () => {
    const random = new Random(8)
    const packed = gzipSync(junit)
    await using platform = await startPlatform((asked, response) => {
      const kind = kindOf(asked)
      if (kind === 'report') {
        response.writeHead(200).end(packed)
        return
      }
      const [, id = '0'] = /pipelines\/(\d+)\/jobs/.exec(asked.path) ?? []
      const json = { 'content-type': 'application/json' }
      const reply =
        kind === 'log' ? answer(200, log) : answer(200, kind === 'jobs' ? listedJobs(Number(id)) : '[]', json)
      reply(asked, response)
    })
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 20 })
    let life = 1
    const killSwitch = new URL('kill-switch.ts', import.meta.url).href
    const daemon = await Daemon.start(
      {
        ...nameLife(life),
        ...{
          PIPESPAN_PLATFORM_URL: platform.url,
          PIPESPAN_PLATFORM_TOKEN: 'for-tests-alone',
          PIPESPAN_PLATFORM_BUDGET: '100000',
          // A platform in this process may answer late on a busy machine, and nothing is read of jobs whose details came after their export.
          PIPESPAN_ENRICH_DEADLINE: '15m',
        },
        ...{ PIPESPAN_JOB_SECTIONS: 'failed', PIPESPAN_JOB_LOGS: 'failed' },
        ...{ PIPESPAN_TESTS: 'true', PIPESPAN_TESTS_SPANS: 'suites' },
        ...{ SERVICE_OBSERVABILITY_EXPORT: 'traces,logs,metrics', PIPESPAN_METRICS_INTERVAL: '500ms' },
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      },
      ['--import', killSwitch],
    )
    const post = async (id: number): Promise<void> => {
      const body = JSON.stringify(eventOf(id)).replaceAll('https://git.example.com', platform.url)
      const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `pipeline ${id}` }
      // One that got no answer is sent again with its key.
      while ((await daemon.post(body, headers).catch(() => undefined))?.ok !== true) await sleep(50)
    }
    const queue = Array.from({ length: size.pipelines }, (_, index) => index + 1)
    const work = async (): Promise<void> => {
      for (let id: number | undefined; (id = queue.pop()) !== undefined;) await post(id)
    }
    const load = Promise.all([work(), work(), work()])
    // The first life ends at any time, and begins the queue.
    await sleep(random.between(50, 600))
    await daemon.kill()
    for (const moment of moments) {
      const crash = { CRASH_AT: nameOf(moment), CRASH_NTH: String(isFull ? random.whole(1, 6) : 1) }
      await daemon.revive({ ...nameLife((life += 1)), ...crash })
      expect(await daemon.process.ended).toMatchObject({ signal: 'SIGKILL' })
      expect(daemon.process.stderr).toContain(`killed ${nameOf(moment)}\n`)
    }
    for (let kill = 1; kill < size.anyTime; kill += 1) {
      await daemon.restart({ ...nameLife((life += 1)), CRASH_AT: undefined })
      await sleep(random.between(50, 3_000))
      await daemon.kill()
    }
    await daemon.restart({ ...nameLife((life += 1)), CRASH_AT: undefined })
    await load
    const read = size.pipelines * size.failed
    const reports = size.pipelines * size.tested
    const spans = read * sections.length + reports * tested.suites
    const records = read * linesOfLog + reports * tested.records
    const inside = <T extends { readonly scope: { readonly name: string } }>(all: readonly T[]): T[] =>
      all.filter(({ scope }) => scope.name === 'pipespan.job')
    // Both are counted roughly first, as this is asked at every request.
    const isComplete = (): boolean =>
      receiver.spans.length >= size.pipelines * (1 + size.jobs) + spans &&
      receiver.logs.length >= records &&
      new Set(inside(receiver.spans).map(({ spanId }) => spanId)).size >= spans &&
      new Set(inside(receiver.logs).map(recordOf)).size >= records &&
      (casesIn(receiver.metrics).pass ?? 0) >= reports * tested.cases.pass
    await receiver.until(isComplete, patience)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })

    const { once, repeated, unexplained } = arrivals(receiver.requests)
    expect(unexplained).toEqual([])
    const own = inside(once)
    expect(own).toHaveLength(spans)
    const jobs = new Set(once.filter(({ name }) => name.startsWith('job: ')).map(({ spanId }) => spanId))
    expect(jobs.size).toBe(size.pipelines * size.jobs)
    expect(own.every(({ parentSpanId }) => jobs.has(parentSpanId ?? ''))).toBe(true)
    for (const [name, some] of Map.groupBy(receiver.requests, ({ headers }) => String(headers['x-life']))) {
      const sent = inside(some.flatMap(({ logs }) => logs)).map(recordOf)
      expect([name, new Set(sent).size]).toEqual([name, sent.length])
    }
    expect(new Set(inside(receiver.logs).map(recordOf)).size).toBe(records)
    expect(casesIn(receiver.metrics)).toEqual({ pass: reports * tested.cases.pass, fail: reports * tested.cases.fail })

    const asked = Map.groupBy(platform.asked, kindOf)
    const count = (kind: ReturnType<typeof kindOf>): number => asked.get(kind)?.length ?? 0
    for (const [kind, needed, mayRepeat] of [
      ['log', read, places.inside],
      ['report', reports, places.inside],
      ['jobs', size.pipelines, places.enrichment],
      ['bridges', size.pipelines, places.enrichment],
    ] as const) {
      expect([kind, count(kind) >= needed, count(kind) <= needed + mayRepeat * kills]).toEqual([kind, true, true])
    }
    expect(asked.get('other') ?? []).toEqual([])
    const perPipeline = platform.asked.length / size.pipelines
    if (isFull) report({ kills, pipelines: size.pipelines, plan, perPipeline, spans, records, repeated })
  },
  patience,
)

/** Names a record of a job. */
function recordOf({ attributes, eventName }: ReceivedLogRecord): string {
  const keys = ['cicd.pipeline.task.run.id', 'platform.cicd.pipeline.task.log.line', 'test.case.name']
  return JSON.stringify([eventName, ...keys.map(key => attributes[key])])
}

/** How many test cases were counted in the end, by result, over all series. */
function casesIn(metrics: readonly ReceivedMetric[]): Record<string, number> {
  const series = new Map<string, { readonly result: string; readonly value: number }>()
  for (const { name, resource, points } of metrics) {
    if (name !== 'platform.test.case.count') continue
    for (const point of points) {
      const result = point.attributes['platform.test.case.result']
      if (!('value' in point) || typeof result !== 'string') continue
      const { attributes, value } = point
      const key = JSON.stringify([resource.attributes, attributes], (_, one: unknown) =>
        typeof one === 'bigint' ? String(one) : one,
      )
      const before = series.get(key)?.value ?? 0
      // Totals only grow, whichever life sends them.
      expect(Number(value)).toBeGreaterThanOrEqual(before)
      series.set(key, { result, value: Number(value) })
    }
  }
  const counts: Record<string, number> = {}
  for (const { result, value } of series.values()) counts[result] = (counts[result] ?? 0) + value
  return counts
}
