// Promises about the other reports of jobs, on a real platform's answers over HTTP and a real store: what is asked for, what is exported, and once.
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answer, startPlatform, type PlatformServer, type Reply } from '../platform/rest/platform-server.ts'
import { createTextRedaction } from '../../src/platform/text-redaction.ts'
import { createErrorThrottle } from '../../src/platform/rest/error-throttle.ts'
import { createJobReader, type JobReader } from '../../src/enrichment/job-reader.ts'
import { createMemoryBudget } from '../../src/platform/rest/memory-budget.ts'
import { createPlatformClient, type PlatformClient } from '../../src/platform/rest/client.ts'
import { createReportReading, type ReportReading } from '../../src/enrichment/read-report.ts'
import { createSettleLoop } from '../../src/processing/settle-loop.ts'
import { createSnapshotter } from '../../src/processing/take-snapshots.ts'
import { encodeMetrics, logsAsJson, metricsAsJson } from '../../src/telemetry/encode.ts'
import { event, everything, job, minute, rules, t0 } from '../flow/world.ts'
import { jobReadsBy } from '../../src/processing/job-reads.ts'
import { measure } from '../../src/telemetry/metrics/measure.ts'
import { mergeWork } from '../../src/processing/merge-observations.ts'
import { needlessReadings } from './needless.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { profiles } from '../../src/platform/profile.ts'
import { reportSwitches, type ReportType } from '../../src/model/job-reports.ts'
import { silentLog } from '../../src/lib/log.ts'
import { telemetrySettings } from '../../src/telemetry/settings.ts'
import { toCumulative } from '../../src/telemetry/metrics/cumulative.ts'
import { toDelta } from '../../src/telemetry/metrics/delta.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { ObservedJob } from '../../src/model/observation.ts'
import type { Signal } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'

const settings = telemetrySettings({ profiles, drop: ['*.SECRET_*'] })
const day = 24 * 60 * minute

describe('the other reports of jobs', () => {
  let now = t0
  let platform: PlatformServer
  let store: Store
  let reader: JobReader
  let client: PlatformClient
  let reports: ReportReading
  let faults: string[] = []
  /** What the platform has, by type. */
  let artifacts: Partial<Record<ReportType, Reply>> = {}
  const clock = { now: () => now, sleep: async () => undefined }
  const to = (['traces', 'logs', 'metrics'] as const).map(signal => ({ destination: 'default', signal }))
  const packed =
    (text: string): Reply =>
    (_, response) =>
      response.writeHead(200).end(gzipSync(text))

  beforeEach(async () => {
    now = t0
    artifacts = {}
    faults = []
    platform = await startPlatform((asked, response) => {
      const reply = artifacts[asked.query.get('file_type') as ReportType]
      ;(reply ?? answer(404, '{"message":"404 File Not Found"}'))(asked, response)
    })
    store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
    client = createPlatformClient({
      ...{ url: platform.url, token: () => 'secret-of-the-platform', tokenType: 'private' },
      budget: createMemoryBudget({ perMinute: 1_000 }, clock),
      ...{ concurrency: 2, userAgent: 'test', clock, log: silentLog() },
    })
    const { jobReads: queue, runs, repositories } = store
    const { refusedEndpoints, reportedNames: names } = repositories
    reports = createReportReading({
      ...{ client, names, redactText: createTextRedaction([/ACME-\d+/g]) },
      isAllowed: key => key !== 'UNNAMED',
      onFault: (what, facts) => faults.push(`${String(facts.reason)}: ${what}`),
    })
    reader = createJobReader({
      ...{ queue, runs, refusedEndpoints, instance: client.instance, to, clock, log: silentLog() },
      ...{ measure: chunk => measure(chunk, settings), errors: createErrorThrottle(silentLog()) },
      ...{ onRead: () => undefined, readings: { ...needlessReadings, ...reports.readings } },
    })
  })
  afterEach(async () => {
    await reader.stop()
    await client.close()
    await store.close()
    await platform[Symbol.asyncDispose]()
  })

  /** Exports a pipeline with these jobs, and reads what is to be read of them. */
  async function finish(jobs: ObservedJob[], pipelineId = 7): Promise<void> {
    const observed = event('failed', { finishedAt: now + minute }, jobs, { ref: 'main' }, pipelineId)
    await store.runs.transact(
      mergeWork([{ ...observed, key: { instance: client.instance, pipelineId } }], 'webhook', rules),
    )
    now += 2 * minute
    await createSettleLoop({
      ...{ runs: store.runs, perTransaction: 10, clock, log: silentLog() },
      snapshotter: createSnapshotter({
        ...{ rules, selection: everything, to, onSnapshot: () => undefined },
        reads: jobReadsBy({ sections: [], lines: [], tests: false, reports: reportSwitches, project: () => true }),
        family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false },
      }),
    }).drain()
    await reader.drain()
  }
  async function sent(signal: Signal): Promise<Chunk[]> {
    const { token, items } = await store.outbox.lease({ destination: 'default', signal }, 1_000, 60_000)
    await store.outbox.settle(
      token,
      items.map(({ id }) => ({ id, as: 'delivered' as const })),
    )
    return items.flatMap(({ chunk }) => (chunk.kind === 'job' ? [chunk] : []))
  }
  const withReports = (id: number, ...types: string[]): ObservedJob =>
    job(
      id,
      `build ${id}`,
      'success',
      { started: 1, finished: 50 },
      {
        artifactSizes: { archive: 1, ...Object.fromEntries(types.map(type => [type, 900])) },
      },
    )
  async function series(): Promise<unknown[]> {
    const { projects } = await store.totals.read(10)
    return projects
      .flatMap(one => one.series)
      .filter(({ metric }) => metric.startsWith('platform.report.'))
      .map(({ metric, attributes, amount }) => [
        metric,
        JSON.parse(attributes) as unknown,
        amount.kind === 'last' ? amount.value : amount.kind === 'sum' ? amount.by : undefined,
      ])
  }

  it('are one request each, and none for a job that has none', async () => {
    artifacts = { metrics: packed('size 1'), dotenv: packed('VERSION=1') }
    await finish([withReports(1, 'metrics', 'dotenv', 'lsif'), withReports(2), job(3, 'x', 'success', { finished: 9 })])
    expect(platform.asked.map(({ path, query }) => [path, String(query)]).sort()).toEqual([
      ['/api/v4/projects/3/jobs/1/artifacts', 'file_type=dotenv'],
      ['/api/v4/projects/3/jobs/1/artifacts', 'file_type=metrics'],
    ])
    await reader.drain()
    expect(platform.asked).toHaveLength(2)
    expect(reader.counters).toMatchObject({ read: 2, refused: 0 })
  })

  it('of metrics are gauges of their own names, by job, ref and label', async () => {
    artifacts = {
      metrics: packed('bundle:size{part="app",owner="ACME-12"} 5\nbundle:size{part="vendor"} 7\np95 0.5\ncoverage 3'),
    }
    await finish([withReports(1, 'metrics')])
    const own = { 'cicd.pipeline.task.name': 'build 1', 'vcs.ref.head.name': 'main' }
    const expected = [
      ['platform.report.bundle_size', { ...own, owner: '[REDACTED]', part: 'app' }, 5],
      ['platform.report.bundle_size', { ...own, part: 'vendor' }, 7],
      ['platform.report.p95', own, 0.5],
    ]
    expect(await series()).toEqual(expected)
    const [first] = await sent('metrics')
    if (first === undefined) throw new Error('nothing was sent')
    const delta = JSON.parse(metricsAsJson([toDelta(first, settings)].filter(one => one !== undefined))) as OtlpMetrics
    const names = ['platform.report.bundle_size', 'platform.report.p95']
    expect(namesOf(delta)).toEqual(names)
    expect(encodeMetrics([first], settings).length).toBeGreaterThan(100)
    const { projects } = await store.totals.read(10)
    const cumulative = projects.flatMap(one => toCumulative(one, now, settings) ?? [])
    expect(namesOf(JSON.parse(metricsAsJson(cumulative)) as OtlpMetrics)).toEqual(expect.arrayContaining(names))

    // A later pipeline's values take their place; the others stay.
    artifacts = { metrics: packed('p95 0.75') }
    await finish(
      [withReports(2, 'metrics')].map(one => ({ ...one, facts: { ...one.facts, name: 'build 1' } })),
      8,
    )
    expect(await series()).toEqual([...expected.slice(0, 2), ['platform.report.p95', own, 0.75]])
    expect(reports.counters).toMatchObject({ series: 4, seriesDropped: 1 })
  })

  it('of metrics make no more names and series than a project may have', async () => {
    for (const pipeline of [1, 2, 3]) {
      artifacts = { metrics: packed(Array.from({ length: 40 }, (_, n) => `m_${pipeline}_${n} ${n}`).join('\n')) }
      await finish([withReports(pipeline, 'metrics')], pipeline)
    }
    expect(new Set((await series()).map(one => (one as string[])[0])).size).toBe(50)
    expect(reports.counters).toMatchObject({ series: 50, seriesDropped: 70 })
    for (const pipeline of [4, 5]) {
      artifacts = { metrics: packed(Array.from({ length: 500 }, (_, n) => `m_1_0{n="${pipeline}-${n}"} 1`).join('\n')) }
      await finish([withReports(pipeline, 'metrics')], pipeline)
    }
    const ofOne = (await series()).filter(one => (one as string[])[0] === 'platform.report.m_1_0')
    expect(ofOne).toHaveLength(500)
    expect(ofOne).toContainEqual(['platform.report.m_1_0', { 'otel.metric.overflow': true }, 1])
  })

  it('of dotenv are one record of the job, of the keys that are allowed, without secrets', async () => {
    artifacts = {
      dotenv: packed('VERSION=1.2\nIMAGE=x:ACME-77\nDB_PASSWORD=correct-horse-9\nUNNAMED=leaves not\nSECRET_ID=7'),
    }
    await finish([withReports(1, 'dotenv')])
    const text = logsAsJson(await sent('logs'), settings)
    const { resourceLogs } = JSON.parse(text) as OtlpLogs
    const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    expect(records).toHaveLength(1)
    expect(records[0]?.eventName).toBe('platform.report.dotenv')
    expect(
      Object.fromEntries(records[0]?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? []),
    ).toEqual({
      'cicd.pipeline.task.run.id': '1',
      'cicd.pipeline.task.name': 'build 1',
      'platform.report.dotenv.VERSION': '1.2',
      'platform.report.dotenv.IMAGE': 'x:[REDACTED]',
      'platform.report.dotenv.DB_PASSWORD': '[REDACTED]',
    })
    expect(text).not.toContain('leaves not')
    expect(JSON.stringify(await store.totals.read(10))).not.toContain('leaves not')
  })

  it('of coverage are gauges of its totals, of findings a counter by type and severity', async () => {
    artifacts = {
      cobertura: packed('<coverage line-rate="0.875" branch-rate="0.5"/>'),
      jacoco: packed('<report><counter type="LINE" missed="1" covered="3"/></report>'),
      codequality: packed('[{"severity":"minor"},{"severity":"minor"}]'),
      sast: packed('{"vulnerabilities":[{"severity":"High"}]}'),
      sarif: packed('{"runs":[]}'),
    }
    await finish([withReports(1, 'cobertura', 'codequality', 'sast', 'sarif'), withReports(2, 'jacoco')])
    const of = (name: string, kind: string) => ({
      ...{ 'cicd.pipeline.task.name': name, 'vcs.ref.head.name': 'main', 'platform.report.coverage.kind': kind },
    })
    const found = (type: string, severity: string) => ({
      ...{ 'platform.report.type': type, 'platform.report.severity': severity },
    })
    expect(await series()).toEqual(
      expect.arrayContaining([
        ['platform.report.coverage', of('build 1', 'lines'), 87.5],
        ['platform.report.coverage', of('build 1', 'branches'), 50],
        ['platform.report.coverage', of('build 2', 'lines'), 75],
        ['platform.report.findings', found('codequality', 'minor'), 2],
        ['platform.report.findings', found('sast', 'high'), 1],
      ]),
    )
    expect(await series()).toHaveLength(5)
    expect(reader.counters).toMatchObject({ read: 4, empty: 1 })
  })

  it('that cannot be read are counted with their reason, and harm no other', async () => {
    artifacts = {
      metrics: answer(200, 'PK\u0003\u0004 an archive'),
      dotenv: answer(200, '\u0000\u0001\u0002\u0003 no gzip'),
      cobertura: packed('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><coverage line-rate="1">&b;</coverage>'),
      jacoco: packed('no XML'),
      codequality: packed('[{"severity":'),
      sast: packed('{"vulnerabilities":[{"severity":"High"}]}'),
    }
    await finish([withReports(1, 'metrics', 'dotenv', 'cobertura', 'jacoco', 'codequality', 'sast', 'dast')])
    expect(faults.map(one => one.split(':')[0]).sort()).toEqual(['entities', 'not_gzip', 'not_xml', 'truncated'])
    expect(await series()).toHaveLength(1)
    const { refusedEndpoints } = store.repositories
    // It hands out archives alone, whatever the job; the scan that has expired was refused for this job alone.
    const refused = (await refusedEndpoints.all()).filter(({ since }) => since !== undefined)
    expect(refused.map(({ what, project }) => [what, project])).toEqual([['metrics', 0]])
    expect(reader.counters).toMatchObject({ read: 1, empty: 4, refused: 2, failed: 0 })
    expect([...(reports.counters.reports.get('jacoco') ?? [])]).toEqual([['not_xml', 1]])
  })

  it('are fetched from a storage without the token, and not from a place that is less safe', async () => {
    await using storage = await startPlatform(packed('p95 1'))
    artifacts = { metrics: answer(302, '', { location: `${storage.url}/signed?for=you` }) }
    await finish([withReports(1, 'metrics')])
    expect(await series()).toHaveLength(1)
    expect(storage.asked.map(({ headers }) => headers['private-token'])).toEqual([undefined])
    artifacts = { metrics: answer(302, '', { location: 'ftp://elsewhere.example/x' }) }
    await finish([withReports(2, 'metrics')], 8)
    expect(reader.counters).toMatchObject({ read: 1, failed: 1, expired: 1 })
  })

  it('of a type that the platform does not know are asked for again after a day', async () => {
    artifacts = { sarif: answer(400, '{"error":"file_type does not have a valid value"}') }
    await finish([withReports(1, 'sarif')])
    await finish([withReports(2, 'sarif')], 8)
    expect(platform.asked).toHaveLength(1)
    expect(reader.counters).toMatchObject({ refused: 1, withheld: 1 })
    artifacts = { sarif: packed('{"runs":[{"results":[{}]}]}') }
    now += day
    await finish([withReports(3, 'sarif')], 9)
    expect(reader.counters.read).toBe(1)
  })

  it('of 100 MB are read in little memory', async () => {
    const size = 100e6
    artifacts = { sast: scanOf(size) }
    const before = process.memoryUsage().rss
    let most = before
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5)
    await finish([withReports(1, 'sast')])
    clearInterval(watch)
    const { findings } = reports.counters
    expect(findings).toBeGreaterThan(size / 2_000)
    expect(most - before).toBeLessThan(150e6)
  })
})

/** Gzip members, each of a part of the report: as large as is wanted, made quickly. */
function scanOf(size: number): Reply {
  const finding = `{"id":"x","severity":"High","description":"${'a long word with \\"quotes\\" '.repeat(30)}","n":[1,2,{"severity":"Low"}]}`
  const part = gzipSync(`${finding},`.repeat(1_000))
  return (_, response) => {
    response.write(gzipSync('{"vulnerabilities":['))
    for (let bytes = 0; bytes < size; bytes += (finding.length + 1) * 1_000) response.write(part)
    response.end(gzipSync(`${finding}]}`))
  }
}

interface OtlpMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[]
  }[]
}
interface OtlpLogs {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly eventName?: string
        readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
      }[]
    }[]
  }[]
}

function namesOf({ resourceMetrics }: OtlpMetrics): string[] {
  return resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  )
}
