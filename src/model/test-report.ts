// Declares the test report of one job: totals, suites, failures with their messages, and the parts that could not be read.

export type TestResult = 'pass' | 'fail' | 'error' | 'skip'

export interface TestTotals {
  /** Number of tests. If the report contains repeated runs of a test, the test counts once. Different cases with the same name count separately. */
  readonly total: number
  readonly passed: number
  readonly failed: number
  readonly errored: number
  readonly skipped: number
  /** Number of tests that failed in one run and passed in another. */
  readonly flaky: number
  /** Total duration of all suites, s. */
  readonly seconds: number
}

export interface TestSuite {
  readonly name: string
  /** The suite's own duration, s, or else the sum of its cases' durations. Undefined if neither is known. */
  readonly seconds?: number | undefined
  /** When the suite started, ms. Times without a time zone are read as UTC. */
  readonly startedAt?: number | undefined
  readonly failed: boolean
  readonly count: number
  /** The suite's test cases. They are read only if test cases are configured to have their own spans. */
  readonly cases?: readonly TestCase[] | undefined
}

export interface TestCase {
  readonly name: string
  readonly ordinal?: number | undefined
  readonly result: TestResult
  readonly seconds: number
}

export interface TestName {
  readonly suite: string
  /** The name of the test, including its class if there is one. */
  readonly name: string
  /** The number of the test among the tests with this name in its suite, starting at 2; undefined for the first one. */
  readonly ordinal?: number | undefined
}

/** A test case that failed or ended with an error. */
export interface TestFailure extends TestName {
  readonly result: 'fail' | 'error'
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly seconds?: number | undefined
  readonly type?: string | undefined
  readonly message?: string | undefined
  readonly stack?: string | undefined
}

/** Reasons why a report could not be read completely, or not at all. */
export const reportFaultReasons = [
  'empty',
  'archive',
  'not_gzip',
  'not_xml',
  'not_junit',
  'not_json',
  'suite_error',
  'truncated',
  'damaged',
  'malformed',
  'entities',
  'too_large',
  'too_deep',
  'too_many',
  'mismatch',
] as const
/**
 * Why a report could not be read as declared. `mismatch`: the whole report was read, but it declares more failures than it contains. `foreign`: the
 * report's format does not match its type.
 */
export type ReportFaultReason = (typeof reportFaultReasons)[number] | 'foreign'

export interface ReportFaultFacts {
  readonly reason: ReportFaultReason
  /** A human-readable sentence about the problem. It contains no text from the report. */
  readonly detail: string
}

export interface TestReport {
  readonly totals: TestTotals
  readonly suites: readonly TestSuite[]
  readonly failures: readonly TestFailure[]
  readonly flaky: readonly TestName[]
  /**
   * The number of entries that were dropped because they exceeded the limits of the lists in this report. `times`: the number of times of suites and
   * cases that were dropped because they were implausible.
   */
  readonly dropped: {
    readonly cases: number
    readonly suites: number
    readonly failures: number
    readonly times?: number
  }
  /** Why the report could not be read completely, or not at all. Undefined if the whole report was read without a fault. */
  readonly fault?: ReportFaultFacts | undefined
}

/** The hashes of a report's tests that passed, failed or were flaky, for comparison with other reports. */
export interface TestOutcomes {
  readonly passed: ReadonlySet<number>
  readonly failed: ReadonlyMap<number, TestName>
  readonly flaky: ReadonlyMap<number, TestName>
  /** The slowest tests of the report, slowest first. */
  readonly slowest: readonly SlowTest[]
}

export interface SlowTest extends TestName {
  readonly hash: number
  readonly seconds: number
}
