// Tests job reports other than test reports, with real platform responses over HTTP and a real store: which ones are requested, and that each is
// exported once.
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, type PlatformServer, type Reply } from '../../platform/rest/platform-server.ts'
import { createReadReport } from '../../../src/platform/reports/read-report.ts'
import { createReadSpans } from '../../../src/platform/reports/read-spans.ts'
import { insideCounters, type InsideCounters } from '../../../src/features/job-insides/counts.ts'
import { createReportReading } from '../../../src/features/job-insides/read-report.ts'
import { createSpanReading } from '../../../src/features/job-insides/read-spans.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { decodeLogs, decodeMetrics } from '../../support/otlp-decode.ts'
import { derivedSpanIds } from '../../../src/features/job-insides/telemetry/derived-ids.ts'
import {
  encodeLogs,
  encodeMetrics,
  encodeResourceMetrics,
  encodeTraces,
  tracesAsJson,
} from '../../../src/core/telemetry/encode.ts'
import { isFull } from '../../full.ts'
import { job, minute, t0 } from '../../flow/world.ts'
import { jobSpanId, pipelineSpanId, sectionSpanId, testSpanId } from '../../../src/core/telemetry/otlp/ids.ts'
import { JobWorld, packed } from './job-world.ts'
import { linearPattern } from '../../support/linear-pattern.ts'
import { liveMemory } from '../../support/live-memory.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { reportSwitches, type ReportType } from '../../../src/model/job-reports.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toCumulative } from '../../../src/core/telemetry/metrics/cumulative.ts'
import type { JobReading } from '../../../src/features/job-insides/job-reading.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { ObservedJob } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const settings = telemetrySettings({ profiles, insides: insideTelemetry, drop: ['*.SECRET_*'] })
const day = 24 * 60 * minute

describe("job reports other than test reports, and jobs' own spans", () => {
  let world: JobWorld
  let platform: PlatformServer
  let store: Store
  let reader: JobReader
  let reports: ReturnType<typeof createReportReading>
  let counters: InsideCounters
  let faults: string[] = []
  /** The platform's responses for job reports, by type. */
  let artifacts: Partial<Record<ReportType, Reply>> = {}
  /** The files in the archive of a job's artifacts, by path. */
  let files: Record<string, Reply> = {}
  let spans: JobReading
  const paths = ['telemetry/a b.otlp.json', 'more.otlp.jsonl']
  const redactText = createTextRedaction([linearPattern('ACME-[0-9]+')])

  beforeEach(async () => {
    artifacts = {}
    files = {}
    faults = []
    world = await JobWorld.open(
      (asked, response) => {
        const [, file] = asked.path.split('/artifacts/')
        const ofType = artifacts[asked.query.get('file_type') as ReportType]
        const reply = file === undefined ? ofType : files[decodeURIComponent(file)]
        ;(reply ?? answer(404, '{"message":"404 File Not Found"}'))(asked, response)
      },
      ['traces', 'logs', 'metrics'],
    )
    ;({ platform, store } = world)
    const { client } = world
    const onFault: Parameters<typeof createReportReading>[0]['onFault'] = (what, facts) =>
      faults.push(`${String(facts.reason)}: ${what}`)
    counters = insideCounters()
    reports = createReportReading({
      counters,
      names: store.repositories.reportedNames,
      readReport: createReadReport(client, { redactText, isAllowed: key => key !== 'UNNAMED' }),
      onFault,
    })
    spans = createSpanReading({
      counters,
      ...{ spanIds: derivedSpanIds, runs: store.runs, onFault },
      readSpans: createReadSpans(client, { paths, maxText: 4_096, redactText }),
    })
    reader = newReader()
    return async () => world.close()
  })
  const newReader = (): JobReader => world.reader({ ...reports, spans }, chunk => measure(chunk, settings))

  /** Exports a pipeline with these jobs, and reads their reports. */
  async function finish(jobs: ObservedJob[], pipelineId = 7, withSpans = false): Promise<void> {
    await world.finish(jobs, { reads: { reports: reportSwitches, spans: withSpans }, pipelineId })
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
    // SECRET_ID is counted, although no attribute may have that name.
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

  const nanos = (seconds: number): string => `${t0 + seconds * 1_000}123456`
  const idOf = (id: string): string => id.padStart(16, '0')
  const span = (id: string, more: object = {}): object => ({
    ...{ traceId: 'a'.repeat(32), spanId: idOf(id), name: `span ${id}` },
    ...{ startTimeUnixNano: nanos(5), endTimeUnixNano: nanos(6), ...more },
  })
  const request = (...own: object[]): string =>
    JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: own }] }] })
  let scopes: (string | undefined)[] = []
  async function sentSpans(): Promise<OtlpSpan[]> {
    const chunks = await world.sent('traces')
    if (chunks.length > 0) expect(encodeTraces(chunks, settings).length).toBeGreaterThan(0)
    const { resourceSpans = [] } = JSON.parse(tracesAsJson(chunks, settings)) as Partial<OtlpTraces>
    scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.map(one => one.scope?.name))
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(one => one.spans))
  }

  it("exports a job's own spans below the job's span, with their original ids", async () => {
    const attributes = [
      { key: 'cicd.pipeline.task.run.id', value: { stringValue: 'mine' } },
      { key: 'owner', value: { stringValue: 'ACME-12' } },
      { key: 'api_token', value: { stringValue: 'correct-horse-9' } },
      { key: 'big', value: { intValue: '9007199254740993' } },
      { key: 'whole', value: { doubleValue: 2 } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'ACME-3' }] } } },
      { key: 'map', value: { kvlistValue: { values: [] } } },
      { key: 'SECRET.SECRET_1', value: { boolValue: true } },
      { key: 'nothing', value: {} },
    ]
    const links = [
      { traceId: 'A'.repeat(32), spanId: idOf('2') },
      { traceId: 'b'.repeat(32), spanId: 'c'.repeat(16) },
    ]
    const inCircle = [span('4', { parentSpanId: idOf('5') }), span('5', { parentSpanId: idOf('4') })]
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          span('1', { attributes, kind: 3, status: { code: 2, message: 'no ACME-9' } }),
          span('2', { parentSpanId: idOf('1'), events: [{ timeUnixNano: nanos(5.5), name: 'now' }] }),
          span('3', { parentSpanId: 'f'.repeat(16), links }),
        ),
      ),
      'more.otlp.jsonl': packed(inCircle.map(one => `${request(one)}\n\n`).join('')),
    }
    await finish([withReports(1), job(2, 'lint', 'success', { finished: 9 })], 7, true)
    expect(platform.asked.map(({ path }) => path)).toEqual([
      '/api/v4/projects/3/jobs/1/artifacts/telemetry/a%20b.otlp.json',
      '/api/v4/projects/3/jobs/1/artifacts/more.otlp.jsonl',
    ])
    const found = await sentSpans()
    const jobSpan = found[0]?.parentSpanId
    expect(found.map(({ spanId, parentSpanId }) => [spanId, parentSpanId])).toEqual([
      [idOf('1'), jobSpan],
      [idOf('2'), idOf('1')],
      [idOf('3'), jobSpan],
      [idOf('4'), idOf('5')],
      [idOf('5'), jobSpan],
    ])
    expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(1)
    const [first, second, third] = found
    expect(first).toMatchObject({
      ...{ name: 'span 1', kind: 3, status: { code: 2, message: 'no [REDACTED]' } },
      ...{ startTimeUnixNano: `${t0 + 5_000}123000`, endTimeUnixNano: `${t0 + 6_000}123000` },
    })
    expect(Object.fromEntries(first?.attributes.map(({ key, value }) => [key, value]) ?? [])).toEqual({
      'cicd.pipeline.task.run.id': { stringValue: '1' },
      owner: { stringValue: '[REDACTED]' },
      api_token: { stringValue: '[REDACTED]' },
      big: { intValue: '9007199254740993' },
      whole: { doubleValue: 2 },
      list: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: '[REDACTED]' }] } },
      map: { stringValue: '{"values":[]}' },
    })
    expect(second?.events).toMatchObject([{ name: 'now', timeUnixNano: `${t0 + 5_500}123000` }])
    expect(third?.links.map(({ traceId }) => traceId)).toEqual([first?.traceId, 'b'.repeat(32)])
    await reader.drain()
    expect(await sentSpans()).toEqual([])
  })

  it("counts a job's invalid or excess own spans without affecting the others", async () => {
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          ...[span('1'), span('1'), span('2', { spanId: 'xyz' }), span('3', { name: '' })],
          ...[span('4', { endTimeUnixNano: nanos(4) }), span('5', { startTimeUnixNano: nanos(-7_200) })],
          ...[span('6', { startTimeUnixNano: -1 }), span('7', { traceId: 'not hex', kind: 'SERVER', events: 7 })],
          ...Array.from({ length: 1_100 }, (_, n) => span(String(n + 1_000))),
        ),
      ),
      'more.otlp.jsonl': answer(200, `{"resourceLogs":[]}\n{"half":\n${request(span('9'))}\n`),
    }
    await finish([withReports(1)], 7, true)
    // The spans after an invalid line are read too.
    expect(counters.spans).toMatchObject({ kept: 1_000, repeated: 1, invalid: 3, misplaced: 2, beyond: 103 })
    expect([...counters.spanFiles]).toEqual([
      ['none', 1],
      ['foreign', 1],
    ])
    expect(faults).toHaveLength(1)
    expect(await sentSpans()).toHaveLength(1_000)
  })

  it('rejects own spans of a job that imitate spans of this or another pipeline', async () => {
    const of = { key: { instance: world.client.instance, pipelineId: 7 }, attempt: 1 }
    const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: 7 } as const
    const taken = [1, 2].map(id => jobSpanId({ ...of, trace }, { id, kind: 'job' }))
    const inside = (['instance', 'platform'] as const).flatMap(scheme => {
      const under = { ...of, trace: { ...trace, scheme } }
      return [1, 2].flatMap(id => [
        jobSpanId(under, { id, kind: 'job' }),
        sectionSpanId(under, { id, kind: 'job' }, 200),
        testSpanId(under, { id, kind: 'job' }, 1_000),
      ])
    })
    const forged = [...new Set([pipelineSpanId({ ...of, trace }), ...taken, ...inside])]
    const claims = [
      'cicd.pipeline.run.id',
      'cicd.pipeline.task.run.id',
      'vcs.ref.head.name',
      'platform.cicd.failure.domain',
      'pipeline.id',
      'job.id',
    ]
    const attributes = [...claims, 'cicdx'].map(key => ({ key, value: { stringValue: '8' } }))
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          ...forged.map(spanId => span('0', { spanId })),
          span('1', { name: 'pipeline: shop', attributes, links: [{ traceId: 'b'.repeat(32), spanId: taken[0] }] }),
        ),
      ),
    }
    await finish([withReports(1), job(2, 'lint', 'success', { finished: 9 })], 7, true)
    expect(counters.spans).toMatchObject({ kept: 1, repeated: 13 })
    const [own] = await sentSpans()
    expect(scopes).toEqual(['pipespan.job.own'])
    expect(own?.attributes).toEqual([
      { key: 'cicd.pipeline.task.run.id', value: { stringValue: '1' } },
      { key: 'cicdx', value: { stringValue: '8' } },
    ])
    expect(own).toMatchObject({ droppedAttributesCount: claims.length })
  })

  it('limits the reading of own spans that are crafted to cost time and memory', async () => {
    const list = (item: string, times: number): string => Array<string>(times).fill(item).join(',')
    const spanWith = (id: string, more: string): string => `${JSON.stringify(span(id)).slice(0, -1)},${more}}`
    const file = (own: string): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${own}]}]}]}`
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const values = list('{"stringValue":"x"}', 50_000)
    files = {
      'telemetry/a b.otlp.json': answer(200, file(list('{}', 300_000))),
      'more.otlp.jsonl': packed(
        [
          spanWith('1', `"attributes":[${list('{}', 300_000)}]`),
          spanWith('2', `"events":[${list(`{"timeUnixNano":"${nanos(5)}","name":"x"}`, 20_000)}]`),
          spanWith('3', `"attributes":[{"key":"list","value":{"arrayValue":{"values":[${values}]}}}]`),
          spanWith('4', `"attributes":[{"key":"deep","value":{"kvlistValue":${deep}}}]`),
          spanWith('5', `"attributes":[{"key":"${'k'.repeat(300)}","value":{"intValue":1}}]`),
        ]
          .map(file)
          .join('\n'),
      ),
    }
    await finish([withReports(1)], 7, true)
    expect(counters.spans).toMatchObject({ kept: 0, invalid: 5_000, beyond: 295_000 + 5 })
    delete files['telemetry/a b.otlp.json']
    await finish([withReports(2)], 8, true)
    expect(counters.spans).toMatchObject({ kept: 5 })
    expect(faults).toEqual([])
    const [attributes, events, values64, deepValue, longKey] = await sentSpans()
    expect(deepValue?.attributes).toHaveLength(1)
    expect(attributes).toMatchObject({ droppedAttributesCount: 299_936, attributes: { length: 1 } })
    expect(events).toMatchObject({ droppedEventsCount: 19_968, events: { length: 32 } })
    expect(values64?.attributes[1]).toMatchObject({ value: { arrayValue: { values: { length: 64 } } } })
    expect(longKey?.attributes).toHaveLength(1)
  })

  it('exports no own spans of a job if the file is missing, invalid, too large or in another format', async () => {
    files = { 'more.otlp.jsonl': answer(200, 'no JSON at all') }
    await finish([withReports(1)], 7, true)
    files = {
      'telemetry/a b.otlp.json': answer(200, JSON.stringify({ resourceMetrics: [] })),
      'more.otlp.jsonl': answer(200, `{"resourceSpans":[]}${' '.repeat(5_000_000)}`),
    }
    await finish([withReports(2)], 8, true)
    expect(faults.map(one => one.split(':')[0])).toEqual(['not_gzip', 'foreign', 'too_large'])
    expect(reader.counters).toMatchObject({ empty: 2, failed: 0, refused: 0 })
    expect(await sentSpans()).toEqual([])
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

interface OtlpSpan extends Readonly<Record<'traceId' | 'spanId' | 'parentSpanId' | 'name', string>> {
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly events: readonly object[]
  readonly links: readonly { readonly traceId: string }[]
}
interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly scope?: { readonly name: string }; readonly spans: readonly OtlpSpan[] }[]
  }[]
}
