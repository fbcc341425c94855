// Tests jobs' test reports, with a platform that responds over HTTP and a store on SQLite: which reports are requested, and that each is exported
// once.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { decodeTraces } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { job, t0 } from '../../flow/world.ts'
import { packed } from './job-world.ts'
import { pytest, surefire } from '../../platform/reports/junit-samples.ts'
import { settings, tested, TestReportBench } from './test-report-bench.ts'
import { startPlatform } from '../../platform/rest/platform-server.ts'
import { testsOf } from './stored-tests.ts'

const passing = pytest.replace(/<failure.*?<\/failure>/s, '')

describe("jobs' test reports", () => {
  let bench: TestReportBench

  beforeEach(async () => {
    bench = await TestReportBench.open()
    return async () => bench.close()
  })

  it('sends one request per job with a test report, and none for other jobs', async () => {
    await bench.finish([
      tested(1),
      job(2, 'lint', 'success', { finished: 9 }, { artifactSizes: { trace: 5 } }),
      job(3, 'x', 'success', { finished: 9 }),
    ])
    expect(bench.world.platform.asked.map(({ path, query }) => [path, String(query)])).toEqual([
      ['/api/v4/projects/3/jobs/1/artifacts', 'file_type=junit'],
    ])
    await bench.reader.drain()
    expect(bench.world.platform.asked).toHaveLength(1)
    expect(bench.counters).toMatchObject({ testCases: { true: 4 }, testFailures: { true: 2 } })
    expect(bench.counters.testReports).toEqual(new Map([['none', 1]]))
  })

  it("exports one event per test report and one per failed test, with the job's span", async () => {
    await bench.finish([tested(1)])
    const all = await bench.records()
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
    await bench.finish([tested(1)])
    const { projects } = await bench.world.store.totals.read(10)
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
    await bench.finish([tested(1)])
    await bench.records()
    bench.world.platform.reply = packed(passing)
    await bench.finish([tested(2)], 8)
    await bench.finish([tested(3)], 9)
    const flaky = (await bench.records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(({ attributes }) => attributes)).toMatchObject([
      {
        'test.case.name': 'tests.test_cart.TestCart.test_discount',
        'platform.test.case.flaky.within': 'revision',
        'cicd.pipeline.task.run.id': '2',
      },
    ])
    bench.world.platform.reply = packed(surefire)
    await bench.finish([tested(4)], 10, { sha: 'b'.repeat(40) })
    const within = (await bench.records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(within.map(one => one.attributes['platform.test.case.flaky.within'])).toEqual(['report'])
  })

  it.each([
    ['surefire-flaky', 1, ['it.Hooks.createsHook']],
    ['pytest-call-and-teardown', 0, []],
    ['suite-level-error', 0, []],
  ])('does not report a test as flaky if every run of it failed: %s', async (file, count, names) => {
    bench.world.platform.reply = packed(readFileSync(`test/fixtures/reports/${file}.xml`, 'utf8'))
    await bench.finish([tested(1)])
    const all = (await bench.records()).map(({ eventName, attributes }) => ({ eventName, attributes }))
    expect(all[0]?.attributes).toMatchObject({ 'platform.test.flaky': count })
    const flaky = all.filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(({ attributes }) => attributes['test.case.name'])).toEqual(names)
  })

  it('attributes to a test only the time of the jobs that failed because of it', async () => {
    const cost = async (question: 'failed' | 'flaky') =>
      (await testsOf(bench.world.store).figures(question, { since: 0, limit: 10 })).map(({ name, times, costMs }) => [
        ...[name.split('.').at(-1), times, costMs],
      ])
    // The same test fails in a job that is allowed to fail, and in a job that fails after 49.0006 s.
    const red = { failureReason: undefined, artifactSizes: { junit: 900 } }
    await bench.finish([job(1, 'unit', 'success', { started: 1, finished: 30 }, red)])
    expect(await cost('failed')).toEqual([
      ['test_discount', 1, 0],
      ['test_stock', 1, 0],
    ])
    await bench.finish([job(2, 'unit', 'failed', { started: 1, finished: 50.0006 }, red)], 8)
    expect(await cost('failed')).toEqual([
      ['test_discount', 2, 49_001],
      ['test_stock', 2, 49_001],
    ])
    bench.world.platform.reply = packed(passing)
    await bench.finish([job(3, 'unit', 'success', { started: 1, finished: 20 }, red)], 9)
    expect(await cost('flaky')).toEqual([['test_discount', 1, 49_001]])
  })

  it("exports spans of test suites and cases within their job's span, if configured", async () => {
    bench.begin('cases')
    const at = new Date(t0 + 5_000).toISOString().slice(0, 19)
    const own = `<testsuites><testsuite name="timed" timestamp="${at}" time="2"><testcase name="a" time="1"/></testsuite>`
    const other =
      '<testsuite name="untimed" time="3"><testcase name="b" time="3"><failure/></testcase></testsuite></testsuites>'
    bench.world.platform.reply = packed(own + other)
    await bench.finish([tested(1)])
    const all = decodeTraces(encodeTraces(await bench.world.sent('traces'), settings))
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
    bench.begin('suites', true)
    const other =
      '<testsuites><testsuite name="untimed" time="3"><testcase name="b" time="3"/></testsuite></testsuites>'
    bench.world.platform.reply = packed(other)
    await bench.finish([tested(1)])
    bench.world.now += 1_000
    await bench.reader.drain()
    expect(bench.world.platform.asked).toHaveLength(1)
    const chunks = await bench.world.sent('traces')
    const [suite] = chunks.flatMap(({ inside }) => inside?.tests?.spans ?? [])
    expect(suite).toMatchObject({ name: 'untimed', start: t0 + 10_000, end: t0 + 13_000, estimated: true })
  })

  it('removes secrets and email addresses from the exported names, messages and stack traces of tests', async () => {
    bench.begin('cases')
    const token = 'glpat-abcdefghij0123456789'
    const words = `ACME-4711 ${token} jane@example.com`
    bench.world.platform.reply = packed(
      `<testsuite name="${words}"><testcase name="${words}" classname="C" file="${words}"><flakyFailure/><failure type="${words}" message="${words} ${'x'.repeat(4_050)} ${token}">${words}</failure></testcase></testsuite>`,
    )
    await bench.finish([tested(1)])
    const bytes = [
      encodeLogs(await bench.world.sent('logs'), settings),
      encodeTraces(await bench.world.sent('traces'), settings),
    ]
    const figures = await testsOf(bench.world.store).figures('failed', { since: 0, limit: 10 })
    for (const shown of [Buffer.concat(bytes).toString(), JSON.stringify(figures)]) {
      expect(shown).toContain('[REDACTED]')
      for (const secret of ['ACME-4711', 'glpat-', 'jane@']) expect(shown).not.toContain(secret)
    }
  })

  it('drops and counts test times that exceed ten times the duration of their job', async () => {
    const suites = [
      '<testsuite name="a day" time="86400"><testcase name="p" time="2"/><testcase name="q" time="1"/></testsuite>',
      '<testsuite name="parallel" time="490"><testcase name="r" time="1"/></testsuite>',
      '<testsuite name="just above" time="490.1"><testcase name="s" time="5000"><failure/></testcase></testsuite>',
      '<testsuite name="no number of seconds" time="1e999"><testcase name="t" time="1e10"/></testsuite>',
    ]
    bench.world.platform.reply = packed(`<testsuites time="1e6">${suites.join('')}</testsuites>`)
    await bench.finish([tested(1)])
    const [report, failure] = (await bench.records()).map(({ attributes }) => attributes)
    expect(report).toMatchObject({
      'platform.test.total': 5,
      'platform.test.duration': 493_000,
      'platform.test.times.dropped': 5,
    })
    expect(failure).toMatchObject({ 'test.case.name': 's' })
    expect(failure).not.toHaveProperty('platform.test.case.duration')
    expect(bench.counters.droppedTimes).toBe(5)
    const { projects } = await bench.world.store.totals.read(10)
    const durations = projects
      .flatMap(one => one.series)
      .find(({ metric }) => metric === 'platform.test.suite.duration')
    expect(durations?.amount).toMatchObject({ sum: 493 })
    expect(durations?.amount.kind === 'histogram' && durations.amount.counts.reduce((a, b) => a + b)).toBe(2)
    expect(await testsOf(bench.world.store).figures('slow', { since: 0, limit: 10 })).toMatchObject([
      ...['p', 'q', 'r'].map(name => ({ name })),
    ])
  })

  it('counts and compares tests with the same name separately, with a span for each', async () => {
    bench.begin('cases')
    const suite = (...all: readonly string[]) =>
      `<testsuite name="s">${all.map(one => `<testcase classname="C" name="x">${one}</testcase>`).join('')}</testsuite>`
    bench.world.platform.reply = packed(suite('', '', '<failure message="third"/>'))
    await bench.finish([tested(1)])
    const [report, failure, ...none] = (await bench.records()).map(({ attributes }) => attributes)
    expect(report).toMatchObject({ 'platform.test.total': 3, 'platform.test.passed': 2, 'platform.test.failed': 1 })
    expect(report).toMatchObject({ 'platform.test.flaky': 0 })
    expect(failure).toMatchObject({ 'test.case.name': 'C.x', 'platform.test.case.ordinal': 3 })
    expect(none).toEqual([])
    const own = (await bench.world.sent('traces')).flatMap(({ inside }) => inside?.tests?.spans ?? [])
    expect(own.map(({ ordinal, ofName, result }) => [ordinal, ofName, result])).toEqual([
      [1, undefined, undefined],
      [2, undefined, 'pass'],
      [3, 2, 'pass'],
      [4, 3, 'fail'],
    ])
    // Now the second test fails, so it is flaky. The third one, which failed before, passes and is flaky too.
    bench.world.platform.reply = packed(suite('', '<failure/>', ''))
    await bench.finish([tested(2)], 8)
    const flaky = (await bench.records()).filter(({ eventName }) => eventName === 'platform.test.case.flaky')
    expect(flaky.map(one => one.attributes['test.case.name'])).toEqual(['C.x', 'C.x'])
  })

  it('exports the reason if a test report cannot be read, without delaying anything', async () => {
    const bodies: Readonly<Record<string, Buffer>> = {
      1: Buffer.from('<html>no gzip</html>'),
      2: gzipSync('no xml'),
      3: gzipSync(pytest).subarray(0, 300),
      4: gzipSync('<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>'),
    }
    bench.world.platform.reply = ({ path }, response) => {
      const id = /jobs\/(\d+)/.exec(path)?.[1] ?? ''
      const body = bodies[id]
      if (body === undefined)
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"404 Not found"}')
      else response.writeHead(200).end(body)
    }
    await bench.finish([1, 2, 3, 4, 5].map(id => tested(id)))
    const faults = (await bench.records())
      .filter(({ eventName }) => eventName === 'platform.test.report')
      .map(one => one.attributes['platform.test.report.fault'])
    expect(faults.sort()).toEqual(['entities', 'not_junit', 'not_xml', 'truncated'])
    expect(bench.reader.counters).toMatchObject({ read: 4, refused: 1 })
    expect(await bench.world.queue.count()).toMatchObject({ due: 0, later: 0 })
  })

  it('fetches test reports from external storage without sending the token', async () => {
    await using storage = await startPlatform(packed(pytest))
    bench.world.platform.reply = (_, response) =>
      response.writeHead(302, { location: `${storage.url}/junit?signature=1` }).end()
    await bench.finish([tested(1)])
    expect(bench.counters.testReports.get('none')).toBe(1)
    expect(storage.asked).toHaveLength(1)
    expect(JSON.stringify(storage.asked)).not.toContain('secret-of-the-platform')
  })

  it('does not request a test report whose listed size exceeds the limit', async () => {
    await bench.finish([tested(1, { artifactSizes: { junit: 31 * 1024 * 1024 } })])
    expect(bench.world.platform.asked).toEqual([])
    expect((await bench.records()).map(one => one.attributes['platform.test.report.fault'])).toEqual(['too_large'])
  })

  it("splits a job's tests into chunks that each fit one request, and counts the tests with the first chunk", async () => {
    const cases = Array.from(
      { length: 100 },
      (_, n) =>
        `<testcase name="${n}"><failure message="${'m'.repeat(4_000)}">${'s'.repeat(4_000)}</failure></testcase>`,
    )
    bench.world.platform.reply = packed(`<testsuite name="s">${cases.join('')}</testsuite>`)
    await bench.finish([tested(1)])
    const chunks = await bench.world.sent('logs')
    expect(chunks.length).toBeGreaterThan(1)
    expect(chunks.filter(({ inside }) => inside?.tests?.summary !== undefined)).toHaveLength(1)
    for (const chunk of chunks) expect(encodeLogs([chunk], settings).length).toBeLessThan(1_000_000)
    expect(chunks.flatMap(({ inside }) => inside?.tests?.failures ?? [])).toHaveLength(100)
  })
})
