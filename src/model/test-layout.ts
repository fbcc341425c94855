// Where the spans of a report's suites and cases lie: at their own times, where they are honest, else one after another inside of the script. Pure.
import type { Millis } from './instant.ts'
import type { TestResult, TestSuite } from './test-report.ts'

/** The span of a suite, or of a case. */
export interface TestSpan {
  /** From 1, over suites and cases in the report's order, whichever of them are exported. */
  readonly ordinal: number
  /** The ordinal of a case's suite; a suite has none. */
  readonly suite?: number | undefined
  readonly name: string
  /** Of a case. */
  readonly result?: TestResult | undefined
  readonly failed: boolean
  readonly start: Millis
  readonly end: Millis
  /** The report does not say when it was: only how long it took. */
  readonly estimated: boolean
}

export interface Window {
  readonly start: Millis
  readonly end: Millis
}

/** How far a clock of a test may be off, ms. */
const tolerance = 1_000

/** `job`: its span; `script`: the section in which the tests ran, where it is known. Suites come before cases when there are more than `most` of them. */
export function testSpans(suites: readonly TestSuite[], job: Window, script: Window = job, most = 1_000): TestSpan[] {
  const place = placing(script)
  let ordinal = 0
  const placed = suites.map((suite): { span: TestSpan; cases: readonly TestSpan[] } => {
    const own = ownTimes(suite, job)
    const { start, end } = own ?? place(suite.seconds)
    ordinal += 1
    const { name, failed } = suite
    const span = { ordinal, name, failed, start, end, estimated: own === undefined }
    const placeCase = placing({ start, end })
    const cases = (suite.cases ?? []).map(({ name: test, result, seconds }, index): TestSpan => ({
      ...{ ordinal: span.ordinal + index + 1, suite: span.ordinal, name: test, result },
      ...{ failed: result === 'fail' || result === 'error', ...placeCase(seconds), estimated: true },
    }))
    ordinal += suite.count
    return { span, cases }
  })
  const spans = placed.slice(0, most).map(({ span }) => span)
  const room = most - spans.length
  const cases = room === 0 ? [] : placed.flatMap(one => one.cases).slice(0, room)
  return [...spans, ...cases].sort((a, b) => a.ordinal - b.ordinal)
}

/** A suite's own times, if they lie within the job. */
function ownTimes({ startedAt, seconds }: TestSuite, job: Window): Window | undefined {
  if (startedAt === undefined) return undefined
  const endedAt = startedAt + seconds * 1_000
  if (startedAt < job.start - tolerance || endedAt > job.end + tolerance) return undefined
  const start = Math.min(Math.max(startedAt, job.start), job.end)
  return { start, end: Math.min(Math.max(endedAt, start), job.end) }
}

/** One after another; what does not fit any more ran beside the others, and begins where they began. */
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
