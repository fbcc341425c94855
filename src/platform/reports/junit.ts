// Reads a job's JUnit report as a stream: the results of its tests, and why it could not be read to its end.
import { createElementReader } from './xml-elements.ts'
import { createJunitCases } from './junit-cases.ts'
import { createTestCollector } from './test-collector.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import { textOf } from './unpack.ts'
import type { TestsRead } from '../port/inside.ts'

export interface TestReadOptions {
  /** Longest message or stack trace that is kept, UTF-16 units. */
  readonly maxText: number
  /** Cases that are kept with their times. */
  readonly keptCases: number
  /** Longer times cannot be, s. */
  readonly maxSeconds?: number | undefined
  readonly caps?: ReportCaps | undefined
}

/** `source`: the artifact's bytes, a gzip of one document or more. Rejects only with what the source itself throws. */
export async function readJunit(source: AsyncIterable<Uint8Array>, options: TestReadOptions): Promise<TestsRead> {
  const { caps = reportCaps, ...kept } = options
  const collector = createTestCollector({ ...kept, maxCases: caps.cases })
  const cases = createJunitCases(collector, caps)
  const elements = createElementReader(cases)
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps)) elements.write(text)
    const unsound = elements.end()
    if (!elements.sawElement) throw new ReportFault('not_xml', 'The report is no XML.')
    if (!cases.sawSuite) throw new ReportFault('not_junit', 'The report has no suites of tests in it.')
    if (unsound !== undefined) throw unsound
  })
  cases.end()
  return collector.collected(fault)
}
