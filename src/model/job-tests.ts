// What one chunk has of a job's tests: a report is divided so that each part fits one request. Pure.
import type { TestSpan } from './test-layout.ts'
import type { TestFailure, TestName, TestReport } from './test-report.ts'

export interface JobTests {
  /** In the first part only: it is what is counted. */
  readonly summary?: TestSummary | undefined
  readonly failures?: readonly TestFailure[] | undefined
  readonly spans?: readonly TestSpan[] | undefined
  readonly flaky?: readonly FlakyTest[] | undefined
}

export interface TestSummary extends Pick<TestReport, 'totals' | 'dropped' | 'fault'> {
  /** Of each suite. */
  readonly suiteSeconds: readonly number[]
}

/** A test that was found to fail and to pass on the same code. */
export interface FlakyTest extends TestName {
  /** What it was seen in: repeated within one report, or in several of the same revision. */
  readonly within: 'report' | 'revision'
}

/** A backend that takes a megabyte takes every part. */
const partBytes = 512 * 1024
/** What a record or a span costs besides its texts: ids, the names of its attributes. */
const bytesOfOne = 700

/** At least one part, the first with the summary. */
export function dividedTests(
  summary: TestSummary,
  { failures, spans, flaky }: { readonly [K in 'failures' | 'spans' | 'flaky']: NonNullable<JobTests[K]> },
): JobTests[] {
  const parts: { summary?: TestSummary; failures: TestFailure[]; spans: TestSpan[]; flaky: FlakyTest[] }[] = []
  let bytes = 0
  const begin = () => {
    const part = { failures: [], spans: [], flaky: [] }
    bytes = 0
    parts.push(part)
    return part
  }
  let part: (typeof parts)[number] = Object.assign(begin(), { summary })
  const room = (size: number) => {
    if (bytes > 0 && bytes + size > partBytes) part = begin()
    bytes += size
    return part
  }
  room(bytesOfOne + summary.suiteSeconds.length * 20)
  for (const failure of failures) room(bytesOf(failure)).failures.push(failure)
  for (const test of flaky) room(bytesOf(test)).flaky.push(test)
  for (const span of spans) room(bytesOf({ name: span.name, suite: '' })).spans.push(span)
  return parts
}

/** In UTF-8, roughly: too high rather than too low. */
function bytesOf(test: TestName & Partial<TestFailure>): number {
  const { suite, name, file = '', type = '', message = '', stack = '' } = test
  return bytesOfOne + 2 * (suite.length + name.length + file.length + type.length + message.length + stack.length)
}
