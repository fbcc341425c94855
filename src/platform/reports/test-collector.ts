// Aggregates the cases of a test report into totals, a limited number of suites and failures, and the sets of failed and passed tests.
import { ReportFault } from './report-fault.ts'
import { createSuiteCases, isFailed, testNameOf, type CaseRun, type SuiteCases, type TestState } from './suite-cases.ts'
import { truncatedCopy } from '../../lib/plain-text.ts'
import type { Millis } from '../../model/instant.ts'
import type {
  SlowTest,
  TestCase,
  TestFailure,
  TestName,
  TestOutcomes,
  TestReport,
  TestSuite,
  TestTotals,
} from '../../model/test-report.ts'

export interface ReportedSuite {
  readonly name: string
  readonly file?: string | undefined
  readonly seconds?: number | undefined
  readonly startedAt?: Millis | undefined
  /** The number of tests that the suite declares, including those in nested suites. */
  readonly tests?: number | undefined
  /** The number of failures and errors that the suite declares, including those in nested suites. */
  readonly failures?: number | undefined
}

export interface ReportedCase extends CaseRun {
  readonly words: { readonly type: string; readonly message: string; readonly stack: string }
}

/** Receives suites and cases in report order. The readers for all formats call it. */
export interface CaseSink {
  beginSuite(suite: ReportedSuite): void
  case(reported: ReportedCase): void
  endSuite(): void
}

export interface CollectorOptions {
  /** Maximum number of cases whose results are used. Cases beyond this limit are only counted. */
  readonly maxCases: number
  /** Maximum length of a message or a stack trace, UTF-16 units. */
  readonly maxText: number
  /** Maximum number of test cases that are kept with their durations and become spans. */
  readonly keptCases: number
  /** Maximum plausible time of a suite or a case, s. Longer times are dropped and counted. */
  readonly maxSeconds?: number | undefined
}

export interface TestCollector extends CaseSink {
  /** Ends the report and returns its results. `fault`: why the report could not be read completely. */
  collected(fault?: ReportFault): { readonly report: TestReport; readonly outcomes: TestOutcomes }
}

/** Maximum numbers of suites, failures, flaky tests, failed tests and slow tests that are kept per report. */
const limits = { suites: 1_000, failures: 100, flaky: 100, failedTests: 1_000, slowest: 10 } as const

/** Maximum plausible time of a test if the options do not set a maximum, s. A longer time is an error in the report. */
const defaultMaxSeconds = 1e9

interface OpenSuite {
  readonly reported: ReportedSuite
  /** The number of failures in the report before this suite. */
  readonly failuresBefore: number
  hasSuites: boolean
  readonly cases: SuiteCases
}

export function createTestCollector(options: CollectorOptions): TestCollector {
  const open: OpenSuite[] = []
  const suites: TestSuite[] = []
  const failures: TestFailure[] = []
  const flaky = new Map<number, TestName>()
  const passed = new Set<number>()
  const failed = new Map<number, TestName>()
  const slowest: SlowTest[] = []
  const totals = { total: 0, passed: 0, failed: 0, errored: 0, skipped: 0, flaky: 0, seconds: 0 }
  const dropped = { cases: 0, suites: 0, failures: 0, times: 0 }
  let read = 0
  /** Number of failures and errors in all cases. A single case may have several. */
  let seenFailures = 0
  /** The error for the first suite that declares more failures than it contains. */
  let mismatch: ReportFault | undefined
  let keptCases = 0
  /** Number of failures with a message in suites whose end has not been read yet. */
  let pendingWords = 0

  /** Returns the time, or undefined if it is implausibly long. */
  function plausible(seconds: number | undefined): number | undefined {
    if (seconds === undefined || seconds <= (options.maxSeconds ?? defaultMaxSeconds)) return seconds
    dropped.times += 1
    return undefined
  }

  function begin(reported: ReportedSuite): OpenSuite {
    const cases = createSuiteCases(reported.name, () => (pendingWords -= 1))
    const suite = { reported, failuresBefore: seenFailures, hasSuites: false, cases }
    open.push(suite)
    return suite
  }

  function failureOf(suite: ReportedSuite, test: TestName, reported: ReportedCase): TestFailure | undefined {
    const { result, file = suite.file, line, seconds, words } = reported
    if (!isFailed(result) || failures.length + pendingWords >= limits.failures) return undefined
    pendingWords += 1
    const text = (value: string) => (value.trim() === '' ? undefined : truncatedCopy(value, options.maxText))
    const message = words.message.trim() === '' ? firstLine(words.stack) : words.message
    return {
      ...test,
      result,
      ...{ file: file && text(file), line, seconds },
      ...{ type: text(words.type), message: text(message), stack: text(words.stack) },
    }
  }

  function close({ reported, hasSuites, cases }: OpenSuite): void {
    let own: number | undefined
    let isFailing = false
    const kept: TestCase[] = []
    const tests = cases.tests(hasSuites ? undefined : reported.tests)
    for (const state of tests) {
      const { test, result, seconds } = state
      count(state)
      if (seconds !== undefined) own = (own ?? 0) + seconds
      isFailing ||= isFailed(result)
      if (keptCases < options.keptCases) {
        keptCases += 1
        const { name, ordinal } = test
        kept.push({ name, ...(ordinal !== undefined && { ordinal }), result, seconds: seconds ?? 0 })
      }
    }
    // A suite that contains only nested suites has no results of its own.
    if (tests.length === 0) return
    const seconds = (hasSuites ? undefined : plausible(reported.seconds)) ?? own
    totals.seconds += seconds ?? 0
    if (suites.length >= limits.suites) {
      dropped.suites += 1
      return
    }
    const name = reported.name === '' ? (tests[0]?.test.suite ?? '') : reported.name
    suites.push({
      ...{ name: testNameOf({ name: '', classname: '' }, name).suite, failed: isFailing, count: tests.length },
      ...(seconds === undefined ? {} : { seconds }),
      ...(reported.startedAt === undefined ? {} : { startedAt: reported.startedAt }),
      ...(kept.length === 0 ? {} : { cases: kept }),
    })
  }

  function compare({ reported: { failures: declared = 0 }, failuresBefore }: OpenSuite): void {
    const seen = seenFailures - failuresBefore
    if (seen >= declared) return
    mismatch ??= new ReportFault(
      'mismatch',
      `A suite of the report declares ${declared} failures and errors, but contains ${seen}.`,
    )
  }

  function count({ hash, test, result, failures: failedRuns, passes, failure, seconds = 0 }: TestState): void {
    totals.total += 1
    totals[counts[result]] += 1
    if (failedRuns > 0 && passes > 0) {
      totals.flaky += 1
      if (flaky.size < limits.flaky) flaky.set(hash, test)
    }
    if (result === 'pass') passed.add(hash)
    noteSlow(hash, test, seconds)
    if (!isFailed(result)) return
    if (failed.size < limits.failedTests) failed.set(hash, test)
    if (failure === undefined) dropped.failures += 1
    else {
      failures.push(failure)
      pendingWords -= 1
    }
  }

  function noteSlow(hash: number, test: TestName, seconds: number): void {
    if (seconds <= (slowest[limits.slowest - 1]?.seconds ?? 0) || slowest.some(one => one.hash === hash)) return
    const faster = slowest.findIndex(one => one.seconds < seconds)
    slowest.splice(faster < 0 ? slowest.length : faster, 0, { hash, ...test, seconds })
    slowest.length = Math.min(slowest.length, limits.slowest)
  }

  function endSuite(): void {
    const suite = open.pop()
    if (suite === undefined) return
    compare(suite)
    close(suite)
  }

  return {
    beginSuite: reported => {
      const around = open.at(-1)
      if (around !== undefined) around.hasSuites = true
      begin(reported)
    },
    case: reported => {
      if (read >= options.maxCases) {
        dropped.cases += 1
        return
      }
      read += 1
      seenFailures += reported.failures
      const suite = open.at(-1) ?? begin({ name: '' })
      const run = { ...reported, seconds: plausible(reported.seconds) }
      suite.cases.add(run, test => failureOf(suite.reported, test, run))
    },
    endSuite,
    collected: fault => {
      while (open.length > 0) endSuite()
      const cut = new ReportFault(
        'too_many',
        `The report has ${read + dropped.cases} cases; ${read} of them were read.`,
      )
      const why = fault ?? (dropped.cases > 0 ? cut : mismatch)
      // A test that failed in one suite and passed in another counts as failed.
      for (const hash of failed.keys()) passed.delete(hash)
      const report: TestReport = {
        totals: { ...totals } satisfies TestTotals,
        suites,
        failures,
        flaky: [...flaky.values()],
        dropped,
        ...(why === undefined ? {} : { fault: { reason: why.reason, detail: why.message } }),
      }
      return { report, outcomes: { passed, failed, flaky, slowest } }
    },
  }
}

const counts = { pass: 'passed', fail: 'failed', error: 'errored', skip: 'skipped' } as const

function firstLine(text: string): string {
  return text.trimStart().split(/\r?\n/, 1)[0] ?? ''
}
