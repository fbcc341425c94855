// Tests how a job's tests are read from the test report that the platform has parsed itself, if the platform refuses to serve the job's artifact.
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, json } from '../../platform/rest/platform-server.ts'
import { tested, TestReportBench } from './test-report-bench.ts'

describe("the platform's own test report", () => {
  let bench: TestReportBench

  beforeEach(async () => {
    bench = await TestReportBench.open()
    return async () => bench.close()
  })

  /** Makes the platform serve its own test report (`/test_report`), and refuse artifacts. */
  function offersOnly(report: unknown, status: number, refusal: unknown = { message: '404 Not Found' }): void {
    const headers = { 'content-type': 'application/json' }
    bench.world.platform.reply = (asked, response) =>
      (asked.path.endsWith('/test_report') ? json(report) : answer(status, JSON.stringify(refusal), headers))(
        asked,
        response,
      )
  }

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
      await bench.finish([...parallel, tested(4, { name: 'e2e' })], 7, { chunkSize: 1 })
      expect(bench.replaced).toEqual([expect.stringContaining('400')])
      const reports = bench.world.platform.asked.filter(
        ({ path }) => path === '/api/v4/projects/3/pipelines/7/test_report',
      )
      expect(reports).toHaveLength(1)
      const all = (await bench.records()).map(one => [one.eventName, one.attributes['cicd.pipeline.task.run.id']])
      expect(all.sort()).toEqual([
        ['platform.test.case.failure', '2'],
        ['platform.test.report', '2'],
        ['platform.test.report', '4'],
      ])
      const before = bench.world.platform.asked.length
      await bench.finish([tested(5, { name: 'e2e' })], 8)
      expect(bench.world.platform.asked.slice(before).map(({ path }) => path)).toEqual([
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
    await bench.finish([tested(1)])
    offersOnly({ test_suites: [suite(0)] }, 400)
    await bench.finish([tested(2)], 8)
    const reports = (await bench.records()).filter(({ eventName }) => eventName === 'platform.test.report')
    const faults = reports.map(
      ({ attributes: { 'cicd.pipeline.task.run.id': id, 'platform.test.report.fault': fault } }) => [id, fault],
    )
    expect(Object.fromEntries(faults)).toEqual({ 1: 'mismatch', 2: undefined })
  })

  it('accepts any test time if parallel jobs share a report', async () => {
    const cases = [{ status: 'success', name: 'p', execution_time: 1 }]
    offersOnly({ test_suites: ['unit', 'e2e'].map(name => ({ name, total_time: 900, test_cases: cases })) }, 400)
    await bench.finish([tested(2, { name: 'unit 1/40' }), tested(3, { name: 'unit 2/40' }), tested(4, { name: 'e2e' })])
    expect([bench.counters.testReports.get('none'), bench.counters.droppedTimes]).toEqual([2, 1])
  })

  it("reads tests from the platform's own report if artifact requests return 404, and logs that once", async () => {
    const names = Array.from({ length: 12 }, (_, n) => `unit-${String.fromCharCode(97 + n)}`)
    const cases = [{ status: 'success', name: 'adds', classname: 'Cart', execution_time: 1 }]
    offersOnly({ test_suites: names.map(name => ({ name, total_time: 1, test_cases: cases })) }, 404)
    await bench.finish(names.map((name, n) => tested(n + 1, { name })))
    expect((await bench.records()).map(one => one.eventName)).toEqual(names.map(() => 'platform.test.report'))
    const askedFor = (last: string) => bench.world.platform.asked.filter(({ path }) => path.endsWith(last)).length
    // Four jobs are read concurrently. After three refusals in a row, no more artifacts are requested.
    expect(askedFor('/artifacts')).toBeLessThan(8)
    expect(askedFor('/test_report')).toBe(1)
    expect(bench.replaced).toEqual([expect.stringContaining('404')])
    const before = askedFor('/artifacts')
    await bench.finish([tested(20, { name: 'unit-a' })], 8)
    expect([askedFor('/artifacts'), askedFor('/test_report'), bench.replaced.length]).toEqual([before, 2, 1])
    expect(await bench.world.store.repositories.refusedEndpoints.all()).toMatchObject([
      { what: 'junit', project: 3, status: 404, since: expect.any(Number) as number },
    ])
    expect(bench.reader.counters).toMatchObject({ read: 13, refused: 0 })
  })

  it('exports no tests for a job whose artifact is gone, and still requests the artifacts of other jobs', async () => {
    offersOnly({ test_suites: [] }, 404)
    for (const pipelineId of [7, 8, 9, 10]) await bench.finish([tested(pipelineId)], pipelineId)
    expect(bench.world.platform.asked.filter(({ path }) => path.endsWith('/artifacts'))).toHaveLength(4)
    expect(await bench.world.store.repositories.refusedEndpoints.all()).toEqual([])
    expect([await bench.records(), bench.replaced]).toEqual([[], []])
  })
})
