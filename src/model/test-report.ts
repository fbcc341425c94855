// The test report of one job: totals, suites, failures with their messages, and what could not be read.

export type TestResult = 'pass' | 'fail' | 'error' | 'skip'

export interface TestTotals {
  /** A test counts once, however often the report says that it was run. Cases of one name are tests of their own. */
  readonly total: number
  readonly passed: number
  readonly failed: number
  readonly errored: number
  readonly skipped: number
  /** How many of all these failed in one run and passed in another. */
  readonly flaky: number
  /** Sum of the suites' times. */
  readonly seconds: number
}

export interface TestSuite {
  readonly name: string
  /** Its own time, else the sum of its cases. Undefined if neither is known. */
  readonly seconds?: number | undefined
  /** When it began, ms; a report without a zone is read as UTC. */
  readonly startedAt?: number | undefined
  readonly failed: boolean
  /** Number of its cases. */
  readonly count: number
  /** Only if cases are to have spans of their own. */
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
  /** The name with the class, if there is one. */
  readonly name: string
  /** Which test of this name in its suite, from 2. Undefined for the first one. */
  readonly ordinal?: number | undefined
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
  'mismatch',
] as const
/** `mismatch`: it was read whole, but it declares more failures than it has. `foreign`: the report has another format than its type says. */
export type ReportFaultReason = (typeof reportFaultReasons)[number] | 'foreign'

export interface ReportFaultFacts {
  readonly reason: ReportFaultReason
  /** A sentence for people, without text from the report. */
  readonly detail: string
}

export interface TestReport {
  readonly totals: TestTotals
  readonly suites: readonly TestSuite[]
  readonly failures: readonly TestFailure[]
  readonly flaky: readonly TestName[]
  /** How many of the report's entries are not in these lists, as each has a limit. `times`: of suites and cases, that cannot be. */
  readonly dropped: {
    readonly cases: number
    readonly suites: number
    readonly failures: number
    readonly times?: number
  }
  /** Undefined for a report that was read whole. */
  readonly fault?: ReportFaultFacts | undefined
}

/** Which tests of a report passed, failed and were flaky, by hash, to be compared with other reports. */
export interface TestOutcomes {
  readonly passed: ReadonlySet<number>
  readonly failed: ReadonlyMap<number, TestName>
  readonly flaky: ReadonlyMap<number, TestName>
  /** The slowest first. */
  readonly slowest: readonly SlowTest[]
}

export interface SlowTest extends TestName {
  readonly hash: number
  readonly seconds: number
}
