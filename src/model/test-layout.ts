// Start and end of the spans of a report's suites and cases: their own times where they are plausible, else one after another within the
// script section. Pure.
import type { Millis } from './instant.ts'
import type { TestResult, TestSuite } from './test-report.ts'

/** The span of a suite, or of a case. */
export interface TestSpan {
  /** From 1, over suites and cases in the report's order; those that are not exported are counted, too. */
  readonly ordinal: number
  /** The ordinal of a case's suite; a suite has none. */
  readonly suite?: number | undefined
  readonly name: string
  /** For a case: which test of its name in its suite it is, from 2. */
  readonly ofName?: number | undefined
  /** Only for a case. */
  readonly result?: TestResult | undefined
  readonly failed: boolean
  readonly start: Millis
  readonly end: Millis
  /** The report has only its duration, not its start. */
  readonly estimated: boolean
}

export interface Window {
  readonly start: Millis
  readonly end: Millis
}

/** How far the clock of a test may be off, ms. */
const tolerance = 1_000

/** `job`: its span; `script`: the section in which the tests ran, if it is known. At most `most` spans: suites first, then cases. */
export function testSpans(suites: readonly TestSuite[], job: Window, script: Window = job, most = 1_000): TestSpan[] {
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
  const spans = placed.slice(0, most).map(({ span }) => span)
  const cases = placed.flatMap(one => one.cases).slice(0, most - spans.length)
  return [...spans, ...cases].sort((a, b) => a.ordinal - b.ordinal)
}

/** A suite's own times, if it has them and they lie within the job. */
function ownTimes({ startedAt, seconds = 0 }: TestSuite, job: Window): Window | undefined {
  if (startedAt === undefined) return undefined
  const endedAt = startedAt + seconds * 1_000
  if (startedAt < job.start - tolerance || endedAt > job.end + tolerance) return undefined
  const start = Math.min(Math.max(startedAt, job.start), job.end)
  return { start, end: Math.min(Math.max(endedAt, start), job.end) }
}

/** One after another. Suites that do not fit must have run in parallel, and begin again at the start. */
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
