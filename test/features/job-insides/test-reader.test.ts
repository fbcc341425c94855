// Tests jobs' test reports, with real platform responses over HTTP and a real store: which reports are requested, and that each is exported once.
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, json, startPlatform, type PlatformServer } from '../../platform/rest/platform-server.ts'
import { createCapabilities } from '../../../src/core/complete/capability.ts'
import { insideCounters, type InsideCounters } from '../../../src/features/job-insides/counts.ts'
import { createTestReading, maxTestSpans } from '../../../src/features/job-insides/read-tests.ts'
import { createTestReports } from '../../../src/platform/reports/read-tests.ts'
import { testsOf } from './stored-tests.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { decodeLogs, type ReceivedLogRecord, decodeTraces } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { job, t0 } from '../../flow/world.ts'
import { JobWorld, packed } from './job-world.ts'
import { linearPattern } from '../../support/linear-pattern.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { pytest, surefire } from '../../platform/reports/junit-samples.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { JobFacts, ObservedJob } from '../../../src/model/observation.ts'
import type { JobReading } from '../../../src/features/job-insides/job-reading.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { Section } from '../../../src/model/inside.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const settings = telemetrySettings({ profiles, insides: insideTelemetry, eventNameAttribute: true })

const passing = pytest.replace(/<failure.*?<\/failure>/s, '')

describe("jobs' test reports", () => {
  let world: JobWorld
  let platform: PlatformServer
  let store: Store
  let reader: JobReader
  let tests: JobReading
  let counters: InsideCounters
  let replaced: string[] = []
  let hasSections = false

  beforeEach(async () => {
    replaced = []
    world = await JobWorld.open(packed(pytest))
    ;({ platform, store } = world)
    begin()
    return async () => world.close()
  })

  function begin(spans: 'none' | 'suites' | 'cases' = 'none', ofLogs = false): void {
    hasSections = ofLogs
    const { client } = world
    const { runs, repositories } = store
    counters = insideCounters()
    tests = createTestReading({
      counters,
      ...{ runs, memory: testsOf(store), spans },
      tests: createTestReports(client, {
        ...{ maxText: 4_096, keptCases: spans === 'cases' ? maxTestSpans : 0 },
        redactText: createTextRedaction([linearPattern('ACME-[0-9]+')]),
      }),
      capabilities: createCapabilities(repositories.refusedEndpoints, client.instance),
      sections: ({ key }, { id }) =>
        hasSections
          ? store.views.sections(key, 1, id).then(all => all.flatMap(({ sections = [] }) => sections))
          : undefined,
      onForgotten: async () => undefined,
      onReplaced: error => replaced.push(error.message),
    })
    reader = world.reader(
      {
        tests,
        log: async (_, { id, kind, start, end, status }) => {
          const own = { clock: 'line', kind: 'runner', parent: undefined } as const
          const sections: Section[] = [
            { ...own, ordinal: 1, name: 'get_sources', start, end: start + 9_000 },
            { ...own, ordinal: 2, name: 'step_script', start: start + 9_000, end: end - 1_000 },
          ]
          return { as: 'read', insides: [{ job: { id, kind, start, end, status }, sections }] }
        },
      },
      chunk => measure(chunk, settings),
    )
  }

  /** Exports a pipeline with these jobs, and reads their test reports. */
  async function finish(
    jobs: ObservedJob[],
    pipelineId = 7,
    { sha = 'a'.repeat(40), chunkSize }: { sha?: string; chunkSize?: number } = {},
  ): Promise<void> {
    const reads = { tests: true, sections: hasSections ? (['failed'] as const) : [] }
    await world.finish(jobs, { reads, pipelineId, facts: { sha }, chunkSize })
    await reader.drain()
  }
  const records = async (): Promise<ReceivedLogRecord[]> => decodeLogs(encodeLogs(await world.sent('logs'), settings))
  const tested = (id: number, more: Partial<JobFacts> = {}): ObservedJob =>
    job(
      id,
      'unit',
      'failed',
      { started: 1, finished: 50 },
      { failureReason: 'script_failure', artifactSizes: { junit: 900 }, ...more },
    )

  /** Makes the platform serve its own test report (`/test_report`), and refuse artifacts. */
  function offersOnly(report: unknown, status: number, refusal: unknown = { message: '404 Not Found' }): void {
    const headers = { 'content-type': 'application/json' }
    platform.reply = (asked, response) =>
      (asked.path.endsWith('/test_report') ? json(report) : answer(status, JSON.stringify(refusal), headers))(
        asked,
        response,
      )
  }

  it('sends one request per job with a test report, and none for other jobs', async () => {
    await finish([
      tested(1),
      job(2, 'lint', 'success', { finished: 9 }, { artifactSizes: { trace: 5 } }),
      job(3, 'x', 'success', { finished: 9 }),
    ])
    expect(platform.asked.map(({ path, query }) => [path, String(query)])).toEqual([
      ['/api/v4/projects/3/jobs/1/artifacts', 'file_type=junit'],
    ])
    await reader.drain()
    expect(platform.asked).toHaveLength(1)
    expect(counters).toMatchObject({ testCases: { true: 4 }, testFailures: { true: 2 } })
    expect(counters.testReports).toEqual(new Map([['none', 1]]))
  })

  it("exports one event per test report and one per failed test, with the job's span", async () => {
    await finish([tested(1)])
    const all = await records()
    expect(all.map(({ eventName, severityNumber }) => [eventName, severityNumber])).toEqual([
      ['platform.test.report', 9],
      ['platform.test.case.failure', 17],
      ['platform.test.case.failure', 17],
    ])
    expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(1)
    const [report, failure] = all.map(({ attributes }) => attributes)
    expect(report).toMatchObject({
      'platform.test.total': 4,
      'platform.test.failed': 1,
      'platform.test.errored': 1,
      'platform.test.duration': 1532,
      'cicd.pipeline.task.name': 'unit',
      'event.name': 'platform.test.report',
    })
    expect(failure).toMatchObject({
      'test.suite.name': 'pytest',
      'test.case.name': 'tests.test_cart.TestCart.test_discount',
      'test.case.result.status': 'fail',
      'exception.message': 'assert 90 == 91',
      'platform.test.case.duration': 0.204,
    })
  })

  it('counts tests once, by job and result', async () => {
    await finish([tested(1)])
    const { projects } = await store.totals.read(10)
    const series = projects.flatMap(one => one.series).filter(({ metric }) => metric.startsWith('platform.test.'))
    expect(series.map(({ metric, attributes }) => [metric, JSON.parse(attributes) as unknown])).toEqual([
      ...['error', 'fail', 'pass', 'skip'].map(result => [
        'platform.test.case.count',
        { 'cicd.pipeline.task.name': 'unit', 'platform.test.case.result': result },
      ]),
      ['platform.test.suite.duration', { 'cicd.pipeline.task.name': 'unit' }],
    ])
  })

  it('reports a test as flaky once if it failed in one job and passed in another on the same code', async () => {
    await finish([tested(1)])
    await records()
    platform.reply = packed(passing)
    await finish([tested(2)], 8)
    await finish([tested(3)], 9)
    const flaky = (await records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(({ attributes }) => attributes)).toMatchObject([
      {
        'test.case.name': 'tests.test_cart.TestCart.test_discount',
        'platform.test.case.flaky.within': 'revision',
        'cicd.pipeline.task.run.id': '2',
      },
    ])
    platform.reply = packed(surefire)
    await finish([tested(4)], 10, { sha: 'b'.repeat(40) })
    const within = (await records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(within.map(one => one.attributes['platform.test.case.flaky.within'])).toEqual(['report'])
  })

  it.each([
    ['surefire-flaky', 1, ['it.Hooks.createsHook']],
    ['pytest-call-and-teardown', 0, []],
    ['suite-level-error', 0, []],
  ])('does not report a test as flaky if every run of it failed: %s', async (file, count, names) => {
    platform.reply = packed(readFileSync(`test/fixtures/reports/${file}.xml`, 'utf8'))
    await finish([tested(1)])
    const all = (await records()).map(({ eventName, attributes }) => ({ eventName, attributes }))
    expect(all[0]?.attributes).toMatchObject({ 'platform.test.flaky': count })
    const flaky = all.filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(({ attributes }) => attributes['test.case.name'])).toEqual(names)
  })

  it('attributes to a test only the time of the jobs that failed because of it', async () => {
    const cost = async (question: 'failed' | 'flaky') =>
      (await testsOf(store).figures(question, { since: 0, limit: 10 })).map(({ name, times, costMs }) => [
        ...[name.split('.').at(-1), times, costMs],
      ])
    // The same test fails in a job that is allowed to fail, and in a job that fails after 49.0006 s.
    const red = { failureReason: undefined, artifactSizes: { junit: 900 } }
    await finish([job(1, 'unit', 'success', { started: 1, finished: 30 }, red)])
    expect(await cost('failed')).toEqual([
      ['test_discount', 1, 0],
      ['test_stock', 1, 0],
    ])
    await finish([job(2, 'unit', 'failed', { started: 1, finished: 50.0006 }, red)], 8)
    expect(await cost('failed')).toEqual([
      ['test_discount', 2, 49_001],
      ['test_stock', 2, 49_001],
    ])
    platform.reply = packed(passing)
    await finish([job(3, 'unit', 'success', { started: 1, finished: 20 }, red)], 9)
    expect(await cost('flaky')).toEqual([['test_discount', 1, 49_001]])
  })

  it("exports spans of test suites and cases within their job's span, if configured", async () => {
    begin('cases')
    const at = new Date(t0 + 5_000).toISOString().slice(0, 19)
    const own = `<testsuites><testsuite name="timed" timestamp="${at}" time="2"><testcase name="a" time="1"/></testsuite>`
    const other =
      '<testsuite name="untimed" time="3"><testcase name="b" time="3"><failure/></testcase></testsuite></testsuites>'
    platform.reply = packed(own + other)
    await finish([tested(1)])
    const all = decodeTraces(encodeTraces(await world.sent('traces'), settings))
    expect(all.map(({ name, start, end, status }) => [name, start - t0, end - t0, status])).toEqual([
      ['test suite: timed', 5_000, 7_000, 'unset'],
      ['test: a', 5_000, 6_000, 'unset'],
      ['test suite: untimed', 1_000, 4_000, 'error'],
      ['test: b', 1_000, 4_000, 'error'],
    ])
    expect(all.map(span => span.attributes['platform.test.time_estimated'])).toEqual([undefined, true, true, true])
    expect(all[1]?.parentSpanId).toBe(all[0]?.spanId)
    expect(all[2]?.parentSpanId).toBe(all[0]?.parentSpanId)
  })

  it("estimates test times within the script's section if the job's sections are read", async () => {
    begin('suites', true)
    const other =
      '<testsuites><testsuite name="untimed" time="3"><testcase name="b" time="3"/></testsuite></testsuites>'
    platform.reply = packed(other)
    await finish([tested(1)])
    world.now += 1_000
    await reader.drain()
    expect(platform.asked).toHaveLength(1)
    const chunks = await world.sent('traces')
    const [suite] = chunks.flatMap(({ inside }) => inside?.tests?.spans ?? [])
    expect(suite).toMatchObject({ name: 'untimed', start: t0 + 10_000, end: t0 + 13_000, estimated: true })
  })

  it('removes secrets and email addresses from the exported names, messages and stack traces of tests', async () => {
    begin('cases')
    const token = 'glpat-abcdefghij0123456789'
    const words = `ACME-4711 ${token} jane@example.com`
    platform.reply = packed(
      `<testsuite name="${words}"><testcase name="${words}" classname="C" file="${words}"><flakyFailure/><failure type="${words}" message="${words} ${'x'.repeat(4_050)} ${token}">${words}</failure></testcase></testsuite>`,
    )
    await finish([tested(1)])
    const bytes = [encodeLogs(await world.sent('logs'), settings), encodeTraces(await world.sent('traces'), settings)]
    const figures = await testsOf(store).figures('failed', { since: 0, limit: 10 })
    for (const shown of [Buffer.concat(bytes).toString(), JSON.stringify(figures)]) {
      expect(shown).toContain('[REDACTED]')
      for (const secret of ['ACME-4711', 'glpat-', 'jane@']) expect(shown).not.toContain(secret)
    }
  })

  it.each(['error', 'message'])(
    "reads tests once from the platform's own report if the platform rejects the artifact request with the reason under the key %s",
    async key => {
      const suite = (name: string, status: string) => ({
        name,
        total_time: 2,
        test_cases: [
          {
            status,
            name: 'adds',
            classname: 'Cart',
            execution_time: 1.5,
            system_output: { message: 'm', type: 'T' },
            stack_trace: 's',
          },
        ],
      })
      const report = { test_suites: [suite('unit', 'failed'), suite('e2e', 'success')] }
      offersOnly(report, 400, { [key]: 'file_type does not have a valid value' })
      // Each job has its own chunk, but the suite is exported only with the first parallel job that has a report.
      const parallel = [1, 2, 3].map(id => tested(id, { name: `unit ${id}/3`, ...(id === 1 && { artifactSizes: {} }) }))
      await finish([...parallel, tested(4, { name: 'e2e' })], 7, { chunkSize: 1 })
      expect(replaced).toEqual([expect.stringContaining('400')])
      const reports = platform.asked.filter(({ path }) => path === '/api/v4/projects/3/pipelines/7/test_report')
      expect(reports).toHaveLength(1)
      const all = (await records()).map(one => [one.eventName, one.attributes['cicd.pipeline.task.run.id']])
      expect(all.sort()).toEqual([
        ['platform.test.case.failure', '2'],
        ['platform.test.report', '2'],
        ['platform.test.report', '4'],
      ])
      const before = platform.asked.length
      await finish([tested(5, { name: 'e2e' })], 8)
      expect(platform.asked.slice(before).map(({ path }) => path)).toEqual([
        '/api/v4/projects/3/pipelines/8/test_report',
      ])
    },
  )

  it("reports that the platform's own test report declares more failures than it lists", async () => {
    const suite = (failed_count: number) => ({
      ...{ name: 'unit', total_time: 1, failed_count, error_count: 1 },
      test_cases: [
        { status: 'failed', name: 'a' },
        { status: 'success', name: 'b' },
      ],
    })
    offersOnly({ test_suites: [suite(1)] }, 400)
    await finish([tested(1)])
    offersOnly({ test_suites: [suite(0)] }, 400)
    await finish([tested(2)], 8)
    const reports = (await records()).filter(({ eventName }) => eventName === 'platform.test.report')
    const faults = reports.map(
      ({ attributes: { 'cicd.pipeline.task.run.id': id, 'platform.test.report.fault': fault } }) => [id, fault],
    )
    expect(Object.fromEntries(faults)).toEqual({ 1: 'mismatch', 2: undefined })
  })

  it('drops and counts test times that exceed ten times the duration of their job', async () => {
    const suites = [
      '<testsuite name="a day" time="86400"><testcase name="p" time="2"/><testcase name="q" time="1"/></testsuite>',
      '<testsuite name="parallel" time="490"><testcase name="r" time="1"/></testsuite>',
      '<testsuite name="just above" time="490.1"><testcase name="s" time="5000"><failure/></testcase></testsuite>',
      '<testsuite name="no number of seconds" time="1e999"><testcase name="t" time="1e10"/></testsuite>',
    ]
    platform.reply = packed(`<testsuites time="1e6">${suites.join('')}</testsuites>`)
    await finish([tested(1)])
    const [report, failure] = (await records()).map(({ attributes }) => attributes)
    expect(report).toMatchObject({
      'platform.test.total': 5,
      'platform.test.duration': 493_000,
      'platform.test.times.dropped': 5,
    })
    expect(failure).toMatchObject({ 'test.case.name': 's' })
    expect(failure).not.toHaveProperty('platform.test.case.duration')
    expect(counters.droppedTimes).toBe(5)
    const { projects } = await store.totals.read(10)
    const durations = projects
      .flatMap(one => one.series)
      .find(({ metric }) => metric === 'platform.test.suite.duration')
    expect(durations?.amount).toMatchObject({ sum: 493 })
    expect(durations?.amount.kind === 'histogram' && durations.amount.counts.reduce((a, b) => a + b)).toBe(2)
    expect(await testsOf(store).figures('slow', { since: 0, limit: 10 })).toMatchObject([
      ...['p', 'q', 'r'].map(name => ({ name })),
    ])
  })

  it('accepts any test time if parallel jobs share a report', async () => {
    const cases = [{ status: 'success', name: 'p', execution_time: 1 }]
    offersOnly({ test_suites: ['unit', 'e2e'].map(name => ({ name, total_time: 900, test_cases: cases })) }, 400)
    await finish([tested(2, { name: 'unit 1/40' }), tested(3, { name: 'unit 2/40' }), tested(4, { name: 'e2e' })])
    expect([counters.testReports.get('none'), counters.droppedTimes]).toEqual([2, 1])
  })

  it("reads tests from the platform's own report if artifact requests return 404, and logs that once", async () => {
    const names = Array.from({ length: 12 }, (_, n) => `unit-${String.fromCharCode(97 + n)}`)
    const cases = [{ status: 'success', name: 'adds', classname: 'Cart', execution_time: 1 }]
    offersOnly({ test_suites: names.map(name => ({ name, total_time: 1, test_cases: cases })) }, 404)
    await finish(names.map((name, n) => tested(n + 1, { name })))
    expect((await records()).map(one => one.eventName)).toEqual(names.map(() => 'platform.test.report'))
    const askedFor = (last: string) => platform.asked.filter(({ path }) => path.endsWith(last)).length
    // Four jobs are read concurrently. After three refusals in a row, no more artifacts are requested.
    expect(askedFor('/artifacts')).toBeLessThan(8)
    expect(askedFor('/test_report')).toBe(1)
    expect(replaced).toEqual([expect.stringContaining('404')])
    const before = askedFor('/artifacts')
    await finish([tested(20, { name: 'unit-a' })], 8)
    expect([askedFor('/artifacts'), askedFor('/test_report'), replaced.length]).toEqual([before, 2, 1])
    expect(await store.repositories.refusedEndpoints.all()).toMatchObject([
      { what: 'junit', project: 3, status: 404, since: expect.any(Number) as number },
    ])
    expect(reader.counters).toMatchObject({ read: 13, refused: 0 })
  })

  it('exports no tests for a job whose artifact is gone, and still requests the artifacts of other jobs', async () => {
    offersOnly({ test_suites: [] }, 404)
    for (const pipelineId of [7, 8, 9, 10]) await finish([tested(pipelineId)], pipelineId)
    expect(platform.asked.filter(({ path }) => path.endsWith('/artifacts'))).toHaveLength(4)
    expect(await store.repositories.refusedEndpoints.all()).toEqual([])
    expect([await records(), replaced]).toEqual([[], []])
  })

  it('counts and compares tests with the same name separately, with a span for each', async () => {
    begin('cases')
    const suite = (...all: readonly string[]) =>
      `<testsuite name="s">${all.map(one => `<testcase classname="C" name="x">${one}</testcase>`).join('')}</testsuite>`
    platform.reply = packed(suite('', '', '<failure message="third"/>'))
    await finish([tested(1)])
    const [report, failure, ...none] = (await records()).map(({ attributes }) => attributes)
    expect(report).toMatchObject({ 'platform.test.total': 3, 'platform.test.passed': 2, 'platform.test.failed': 1 })
    expect(report).toMatchObject({ 'platform.test.flaky': 0 })
    expect(failure).toMatchObject({ 'test.case.name': 'C.x', 'platform.test.case.ordinal': 3 })
    expect(none).toEqual([])
    const own = (await world.sent('traces')).flatMap(({ inside }) => inside?.tests?.spans ?? [])
    expect(own.map(({ ordinal, ofName, result }) => [ordinal, ofName, result])).toEqual([
      [1, undefined, undefined],
      [2, undefined, 'pass'],
      [3, 2, 'pass'],
      [4, 3, 'fail'],
    ])
    // Now the second test fails, so it is flaky. The third one, which failed before, passes and is flaky too.
    platform.reply = packed(suite('', '<failure/>', ''))
    await finish([tested(2)], 8)
    const flaky = (await records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(one => one.attributes['test.case.name'])).toEqual(['C.x', 'C.x'])
  })

  it('exports the reason if a test report cannot be read, without delaying anything', async () => {
    const bodies: Readonly<Record<string, Buffer>> = {
      1: Buffer.from('<html>no gzip</html>'),
      2: gzipSync('no xml'),
      3: gzipSync(pytest).subarray(0, 300),
      4: gzipSync('<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>'),
    }
    platform.reply = ({ path }, response) => {
      const id = /jobs\/(\d+)/.exec(path)?.[1] ?? ''
      const body = bodies[id]
      if (body === undefined)
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"404 Not found"}')
      else response.writeHead(200).end(body)
    }
    await finish([1, 2, 3, 4, 5].map(id => tested(id)))
    const faults = (await records())
      .filter(({ eventName }) => eventName === 'platform.test.report')
      .map(one => one.attributes['platform.test.report.fault'])
    expect(faults.sort()).toEqual(['entities', 'not_junit', 'not_xml', 'truncated'])
    expect(reader.counters).toMatchObject({ read: 4, refused: 1 })
    expect(await world.queue.count()).toMatchObject({ due: 0, later: 0 })
  })

  it('fetches test reports from external storage without sending the token', async () => {
    await using storage = await startPlatform(packed(pytest))
    platform.reply = (_, response) => response.writeHead(302, { location: `${storage.url}/junit?signature=1` }).end()
    await finish([tested(1)])
    expect(counters.testReports.get('none')).toBe(1)
    expect(storage.asked).toHaveLength(1)
    expect(JSON.stringify(storage.asked)).not.toContain('secret-of-the-platform')
  })

  it('does not request a test report whose listed size exceeds the limit', async () => {
    await finish([tested(1, { artifactSizes: { junit: 31 * 1024 * 1024 } })])
    expect(platform.asked).toEqual([])
    expect((await records()).map(one => one.attributes['platform.test.report.fault'])).toEqual(['too_large'])
  })

  it("splits a job's tests into chunks that each fit one request, and counts the tests with the first chunk", async () => {
    const cases = Array.from(
      { length: 100 },
      (_, n) =>
        `<testcase name="${n}"><failure message="${'m'.repeat(4_000)}">${'s'.repeat(4_000)}</failure></testcase>`,
    )
    platform.reply = packed(`<testsuite name="s">${cases.join('')}</testsuite>`)
    await finish([tested(1)])
    const chunks = await world.sent('logs')
    expect(chunks.length).toBeGreaterThan(1)
    expect(chunks.filter(({ inside }) => inside?.tests?.summary !== undefined)).toHaveLength(1)
    for (const chunk of chunks) expect(encodeLogs([chunk], settings).length).toBeLessThan(1_000_000)
    expect(chunks.flatMap(({ inside }) => inside?.tests?.failures ?? [])).toHaveLength(100)
  })
})
