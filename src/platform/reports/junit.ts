// Reads a job's JUnit report as a stream. Answers the results of its tests and, if it could not be read to its end, the reason.
import { createJunitCases } from './junit-cases.ts'
import { createTestCollector, type CollectorOptions } from './test-collector.ts'
import { readElements } from './xml-elements.ts'
import { ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import type { TestsRead } from '../port/inside.ts'

export interface TestReadOptions extends Omit<CollectorOptions, 'maxCases'> {
  readonly caps?: ReportCaps | undefined
}

/** `source`: the artifact's bytes, a gzip of one or more documents. Rejects only with an error of the source itself. */
export async function readJunit(source: AsyncIterable<Uint8Array>, options: TestReadOptions): Promise<TestsRead> {
  const { caps = reportCaps, ...kept } = options
  const collector = createTestCollector({ ...kept, maxCases: caps.cases })
  const cases = createJunitCases(collector, caps)
  const fault = await readElements(source, caps, cases, () =>
    cases.sawSuite ? undefined : new ReportFault('not_junit', 'The report contains no test suites.'),
  )
  cases.end()
  return collector.collected(fault)
}
