// What the tests of one job did, as its report says: totals, suites, the failures with their words, and what of it could not be read.

export type TestResult = 'pass' | 'fail' | 'error' | 'skip'

export interface TestTotals {
  /** Cases; one that was repeated within its suite counts once. */
  readonly total: number
  readonly passed: number
  readonly failed: number
  readonly errored: number
  readonly skipped: number
  /** Of all these: cases that were repeated after a failure. */
  readonly flaky: number
  /** The suites' own times added up, seconds. */
  readonly seconds: number
}

export interface TestSuite {
  readonly name: string
  /** Its own time, else that of its cases added up, seconds. */
  readonly seconds: number
  /** When it began, ms; a report without a zone is read as UTC. */
  readonly startedAt?: number | undefined
  readonly failed: boolean
  /** Its own cases. */
  readonly count: number
  /** Only where cases are to have spans of their own. */
  readonly cases?: readonly TestCase[] | undefined
}

export interface TestCase {
  readonly name: string
  readonly result: TestResult
  readonly seconds: number
}

/** A test by its name. */
export interface TestName {
  readonly suite: string
  /** With its class, where there is one. */
  readonly name: string
}

/** A case that failed, or that ended in an error. */
export interface TestFailure extends TestName {
  readonly result: 'fail' | 'error'
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly seconds?: number | undefined
  readonly type?: string | undefined
  readonly message?: string | undefined
  readonly stack?: string | undefined
}

/** Why a report could not be read, or not to its end. */
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
] as const
/** `foreign`: a report of another kind, that has another format than its type says. */
export type ReportFaultReason = (typeof reportFaultReasons)[number] | 'foreign'

export interface ReportFaultFacts {
  readonly reason: ReportFaultReason
  /** A sentence for people; never the report's own words. */
  readonly detail: string
}

export interface TestReport {
  readonly totals: TestTotals
  readonly suites: readonly TestSuite[]
  readonly failures: readonly TestFailure[]
  /** Names of flaky cases. */
  readonly flaky: readonly TestName[]
  /** What was in the report and is not in these lists, as there is a bound for each. */
  readonly dropped: { readonly cases: number; readonly suites: number; readonly failures: number }
  /** Undefined for a report that was read whole. */
  readonly fault?: ReportFaultFacts | undefined
}

/** Which tests failed, passed and were flaky within one report, by hash: for comparing it with others. */
export interface TestOutcomes {
  readonly passed: ReadonlySet<number>
  readonly failed: ReadonlyMap<number, TestName>
  readonly flaky: ReadonlyMap<number, TestName>
  /** The slowest tests, the slowest first. */
  readonly slowest: readonly SlowTest[]
}

export interface SlowTest extends TestName {
  readonly hash: number
  readonly seconds: number
}
