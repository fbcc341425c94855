// Splits a job's test report so that each part fits into one chunk. Pure.
import { defaultChunkBytes } from './chunk-size.ts'
import type { TestSpan } from './test-layout.ts'
import type { TestFailure, TestName, TestReport } from './test-report.ts'

export interface JobTests {
  /** The summary of the test report, from which metrics are made. Only the first chunk has it. */
  readonly summary?: TestSummary | undefined
  readonly failures?: readonly TestFailure[] | undefined
  readonly spans?: readonly TestSpan[] | undefined
  readonly flaky?: readonly FlakyTest[] | undefined
}

export interface TestSummary extends Pick<TestReport, 'totals' | 'dropped' | 'fault'> {
  /** The durations of the suites in seconds, without suites whose duration is unknown. */
  readonly suiteSeconds: readonly number[]
}

/** A test that both failed and passed on the same revision of the code. */
export interface FlakyTest extends TestName {
  /** Where the test both failed and passed: in one report that contains repeated runs, or in several reports on one revision. */
  readonly within: 'report' | 'revision'
}

/** Estimated size of a log record or span without its strings, bytes: IDs and attribute names. */
const bytesOfOne = 700

/** Splits a test report into one part per chunk. There is always at least one part, and the first one contains the summary. */
export function splitTests(
  summary: TestSummary,
  { failures, spans, flaky }: { readonly [K in 'failures' | 'spans' | 'flaky']: NonNullable<JobTests[K]> },
): JobTests[] {
  interface Split {
    summary?: TestSummary
    failures: TestFailure[]
    spans: TestSpan[]
    flaky: FlakyTest[]
  }
  let last: Split = { summary, failures: [], spans: [], flaky: [] }
  let bytes = bytesOfOne + summary.suiteSeconds.length * 20
  const all = [last]
  const roomFor = (size: number): Split => {
    if (bytes > 0 && bytes + size > defaultChunkBytes) {
      last = { failures: [], spans: [], flaky: [] }
      bytes = 0
      all.push(last)
    }
    bytes += size
    return last
  }
  for (const failure of failures) roomFor(bytesOf(failure)).failures.push(failure)
  for (const test of flaky) roomFor(bytesOf(test)).flaky.push(test)
  for (const span of spans) roomFor(bytesOf({ name: span.name, suite: '' })).spans.push(span)
  return all
}

/** Estimates the size of a test in UTF-8 bytes. The estimate errs on the high side. */
function bytesOf(test: TestName & Partial<TestFailure>): number {
  const { suite, name, file = '', type = '', message = '', stack = '' } = test
  return bytesOfOne + 2 * (suite.length + name.length + file.length + type.length + message.length + stack.length)
}
