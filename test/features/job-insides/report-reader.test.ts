// Tests job reports other than test reports, with a platform that responds over HTTP and a store on SQLite: which reports are requested, and that
// each is exported once.
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, type PlatformServer, type Reply } from '../../platform/rest/platform-server.ts'
import { createReadReport } from '../../../src/platform/reports/read-report.ts'
import { insideCounters, type InsideCounters } from '../../../src/features/job-insides/counts.ts'
import { createReportReading } from '../../../src/features/job-insides/read-report.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { decodeLogs, decodeMetrics } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeMetrics, encodeResourceMetrics } from '../../../src/core/telemetry/encode.ts'
import { isFull } from '../../full.ts'
import { job, minute } from '../../flow/world.ts'
import { JobWorld, packed } from './job-world.ts'
import { linearPattern } from '../../support/linear-pattern.ts'
import { liveMemory } from '../../support/live-memory.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { reportSwitches, type ReportType } from '../../../src/model/job-reports.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toCumulative } from '../../../src/core/telemetry/metrics/cumulative.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { ObservedJob } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const settings = telemetrySettings({ profiles, insides: insideTelemetry, drop: ['*.SECRET_*'] })
const day = 24 * 60 * minute

describe('job reports other than test reports', () => {
  let world: JobWorld
  let platform: PlatformServer
  let store: Store
  let reader: JobReader
  let reports: ReturnType<typeof createReportReading>
  let counters: InsideCounters
  let faults: string[] = []
  /** The platform's responses for job reports, by type. */
  let artifacts: Partial<Record<ReportType, Reply>> = {}
  const redactText = createTextRedaction([linearPattern('ACME-[0-9]+')])

  beforeEach(async () => {
    artifacts = {}
    faults = []
    world = await JobWorld.open(
      (asked, response) => {
        const reply = artifacts[asked.query.get('file_type') as ReportType]
        ;(reply ?? answer(404, '{"message":"404 File Not Found"}'))(asked, response)
      },
      ['traces', 'logs', 'metrics'],
    )
    ;({ platform, store } = world)
    const { client } = world
    counters = insideCounters()
    reports = createReportReading({
      counters,
      names: store.repositories.reportedNames,
      readReport: createReadReport(client, { redactText, isAllowed: key => key !== 'UNNAMED' }),
      onFault: (what, facts) => faults.push(`${String(facts.reason)}: ${what}`),
    })
    reader = newReader()
    return async () => world.close()
  })
  const newReader = (): JobReader => world.reader(reports, chunk => measure(chunk, settings))

  /** Exports a pipeline with these jobs, and reads their reports. */
  async function finish(jobs: ObservedJob[], pipelineId = 7): Promise<void> {
    await world.finish(jobs, { reads: { reports: reportSwitches }, pipelineId })
    await reader.drain()
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

  it('sends one request per report of a job, and none for a job without reports', async () => {
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

  it('exports metrics reports as gauges named as in the report, by job, ref and label', async () => {
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
    const namesOf = (bytes: Uint8Array): string[] => decodeMetrics(bytes).map(({ name }) => name)
    const names = ['platform.report.bundle_size', 'platform.report.p95']
    expect(namesOf(encodeMetrics((await world.sent('metrics')).slice(0, 1), settings))).toEqual(names)
    const { projects } = await store.totals.read(10)
    const cumulative = projects.flatMap(one => toCumulative(one, world.now, settings) ?? [])
    expect(namesOf(encodeResourceMetrics(cumulative))).toEqual(expect.arrayContaining(names))

    // The values of a later pipeline replace the earlier ones. Gauges that it does not report keep their values.
    artifacts = { metrics: packed('p95 0.75') }
    await finish(
      [withReports(2, 'metrics')].map(one => ({ ...one, facts: { ...one.facts, name: 'build 1' } })),
      8,
    )
    expect(await series()).toEqual([...expected.slice(0, 2), ['platform.report.p95', own, 0.75]])
    expect(counters.series).toEqual({ true: 4, false: 1 })
  })

  it('limits the names and series of metrics reports per project', async () => {
    for (const pipeline of [1, 2, 3]) {
      artifacts = { metrics: packed(Array.from({ length: 40 }, (_, n) => `m_${pipeline}_${n} ${n}`).join('\n')) }
      await finish([withReports(pipeline, 'metrics')], pipeline)
    }
    expect(new Set((await series()).map(one => (one as string[])[0])).size).toBe(50)
    expect(counters.series).toEqual({ true: 50, false: 70 })
    for (const pipeline of [4, 5]) {
      artifacts = { metrics: packed(Array.from({ length: 500 }, (_, n) => `m_1_0{n="${pipeline}-${n}"} 1`).join('\n')) }
      await finish([withReports(pipeline, 'metrics')], pipeline)
    }
    const ofOne = (await series()).filter(one => (one as string[])[0] === 'platform.report.m_1_0')
    expect(ofOne).toHaveLength(500)
    expect(ofOne).toContainEqual(['platform.report.m_1_0', { 'otel.metric.overflow': true }, 1])
  })

  it('exports a dotenv report as one record of the job, with the allowed keys and without secrets', async () => {
    artifacts = {
      dotenv: packed('VERSION=1.2\nIMAGE=x:ACME-77\nDB_PASSWORD=correct-horse-9\nUNNAMED=leaves not\nSECRET_ID=7'),
    }
    await finish([withReports(1, 'dotenv')])
    const bytes = encodeLogs(await world.sent('logs'), settings)
    const records = decodeLogs(bytes)
    expect(records.map(({ eventName }) => eventName)).toEqual(['platform.report.dotenv'])
    expect(records[0]?.attributes).toEqual({
      'cicd.pipeline.task.run.id': '1',
      'cicd.pipeline.task.name': 'build 1',
      'platform.report.dotenv.VERSION': '1.2',
      'platform.report.dotenv.IMAGE': 'x:[REDACTED]',
      'platform.report.dotenv.DB_PASSWORD': '[REDACTED]',
    })
    // SECRET_ID counts as a value of the report, although it is not exported, because no attribute may have that name.
    expect(counters.values).toEqual({ true: 4, false: 0 })
    expect(Buffer.from(bytes).toString()).not.toContain('leaves not')
    expect(JSON.stringify(await store.totals.read(10))).not.toContain('leaves not')
  })

  it('exports gauges of total coverage, and a counter of findings by type and severity', async () => {
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

  it('counts unreadable reports by reason, without affecting other reports', async () => {
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
    // The platform serves metrics reports only in archives, so this report type is refused for all jobs. The expired scan report was refused only for
    // its job.
    const refused = (await refusedEndpoints.all()).filter(({ since }) => since !== undefined)
    expect(refused.map(({ what, project }) => [what, project])).toEqual([['metrics', 0]])
    expect(reader.counters).toMatchObject({ read: 1, empty: 4, refused: 2, failed: 0 })
    expect([...(counters.reports.get('jacoco') ?? [])]).toEqual([['not_xml', 1]])
  })

  it('retries a report type after a day if the platform does not know it', async () => {
    artifacts = { sarif: answer(400, '{"error":"file_type does not have a valid value"}') }
    await finish([withReports(1, 'sarif')])
    await finish([withReports(2, 'sarif')], 8)
    expect(platform.asked).toHaveLength(1)
    expect(reader.counters).toMatchObject({ refused: 1, withheld: 1 })
    artifacts = { sarif: packed('{"runs":[{"results":[{}]}]}') }
    world.now += day
    await finish([withReports(3, 'sarif')], 9)
    expect(reader.counters.read).toBe(1)
  })

  it('rereads a report after a restart and counts it once if the daemon stopped while reading it', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<undefined>()
    artifacts = {
      codequality: (_, response) => {
        response.writeHead(200).write(gzipSync('[{"severity":"minor"},'))
        asked(undefined)
      },
    }
    const reading = finish([withReports(1, 'codequality')])
    await isAsked
    await reader.stop()
    await reading
    expect(await series()).toEqual([])
    artifacts = { codequality: packed('[{"severity":"minor"}]') }
    reader = newReader()
    const other = newReader()
    await Promise.all([reader.drain(), other.drain()])
    await other.stop()
    const found = { 'platform.report.type': 'codequality', 'platform.report.severity': 'minor' }
    expect(await series()).toEqual([['platform.report.findings', found, 1]])
    expect(reader.counters.read + other.counters.read).toBe(1)
  })

  it(`reads a report of ${isFull ? 100 : 25} MB with less than 15 MB of memory`, async () => {
    const size = isFull ? 100e6 : 25e6
    artifacts = { cobertura: coverageOf(size) }
    const before = liveMemory()
    const live: number[] = []
    // Memory is measured at most five times. After other test files have run in this process, each measurement is slow, and more of them would leave
    // no time for the reading itself.
    const watch = setInterval(() => live.length < 5 && live.push(liveMemory()), 200)
    await finish([withReports(1, 'cobertura')])
    clearInterval(watch)
    expect(reader.counters.read).toBe(1)
    expect(live.length).toBeGreaterThan(0)
    expect(Math.max(...live) - before).toBeLessThan(15e6)
  })
})

/** Responds with a coverage report of this size. Each gzip member contains one part of the report, so that it is generated quickly. */
function coverageOf(size: number): Reply {
  const line = '<line number="1" hits="1" condition="a long text, as some reports have"/>'
  const part = gzipSync(line.repeat(10_000))
  return (_, response) => {
    response.write(gzipSync('<coverage line-rate="0.5">'))
    for (let bytes = 0; bytes < size; bytes += line.length * 10_000) response.write(part)
    response.end(gzipSync('</coverage>'))
  }
}
