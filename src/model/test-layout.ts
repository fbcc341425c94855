// Computes the start and end of the spans for a report's suites and cases. Plausible times from the report are used. Suites and cases without
// plausible times are placed one after another within the script section. Pure.
import type { Millis } from './instant.ts'
import type { TestResult, TestSuite } from './test-report.ts'

/** The span of a test suite or of a test case. */
export interface TestSpan {
  /** The position of the suite or case in the report, starting at 1. Suites and cases that are not exported are counted too. */
  readonly ordinal: number
  /** The ordinal of the suite that a case belongs to; undefined for a suite. */
  readonly suite?: number | undefined
  readonly name: string
  /** The number of a case among the cases with the same name in its suite, starting at 2; undefined for the first one. */
  readonly ofName?: number | undefined
  /** The result of the test case; undefined for a suite. */
  readonly result?: TestResult | undefined
  readonly failed: boolean
  readonly start: Millis
  readonly end: Millis
  /** True if the start is estimated, because the report contains only the duration. */
  readonly estimated: boolean
}

export interface Window {
  readonly start: Millis
  readonly end: Millis
}

/** Maximum tolerated clock skew between a test and its job, ms. */
const tolerance = 1_000

/**
 * Computes the spans for a test report. `job`: the times of the job's span; `script`: the times of the section in which the tests ran, if known. At
 * most `maxSpans` spans are returned, suites first, then cases.
 */
export function testSpans(
  suites: readonly TestSuite[],
  job: Window,
  script: Window = job,
  maxSpans = 1_000,
): TestSpan[] {
  const place = placing(script)
  let ordinal = 0
  const placed = suites.map((suite): { span: TestSpan; cases: readonly TestSpan[] } => {
    const own = ownTimes(suite, job)
    const { start, end } = own ?? place(suite.seconds ?? 0)
    ordinal += 1
    const { name, failed } = suite
    const span = { ordinal, name, failed, start, end, estimated: own === undefined }
    const placeCase = placing({ start, end })
    const cases = (suite.cases ?? []).map(({ name: test, ordinal: ofName, result, seconds }, index): TestSpan => ({
      ...{ ordinal: span.ordinal + index + 1, suite: span.ordinal, name: test, ...(ofName && { ofName }), result },
      ...{ failed: result === 'fail' || result === 'error', ...placeCase(seconds), estimated: true },
    }))
    ordinal += suite.count
    return { span, cases }
  })
  const spans = placed.slice(0, maxSpans).map(({ span }) => span)
  const cases = placed.flatMap(one => one.cases).slice(0, maxSpans - spans.length)
  return [...spans, ...cases].sort((a, b) => a.ordinal - b.ordinal)
}

/** Returns the suite's times from the report if they are within the job's times. */
function ownTimes({ startedAt, seconds = 0 }: TestSuite, job: Window): Window | undefined {
  if (startedAt === undefined) return undefined
  const endedAt = startedAt + seconds * 1_000
  if (startedAt < job.start - tolerance || endedAt > job.end + tolerance) return undefined
  const start = Math.min(Math.max(startedAt, job.start), job.end)
  return { start, end: Math.min(Math.max(endedAt, start), job.end) }
}

/** Places suites one after another. Suites that no longer fit must have run in parallel, so placement restarts at the beginning. */
function placing(within: Window): (seconds: number) => Window {
  let at = within.start
  return seconds => {
    const millis = Math.min(seconds * 1_000, within.end - within.start)
    if (at + millis > within.end) at = within.start
    const start = at
    at += millis
    return { start, end: at }
  }
}
