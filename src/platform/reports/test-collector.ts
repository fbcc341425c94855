// Collects the cases of a report: totals, limited numbers of suites and failures, and which tests failed and passed.
import { ReportFault } from './report-fault.ts'
import { testHashOf, testNameOf, type NamedCase } from './test-name.ts'
import type { Millis } from '../../model/instant.ts'
import type {
  SlowTest,
  TestCase,
  TestFailure,
  TestName,
  TestOutcomes,
  TestReport,
  TestResult,
  TestSuite,
  TestTotals,
} from '../../model/test-report.ts'

export interface ReportedSuite {
  readonly name: string
  readonly file?: string | undefined
  readonly seconds?: number | undefined
  readonly startedAt?: Millis | undefined
}

export interface ReportedCase extends NamedCase {
  readonly line?: number | undefined
  readonly seconds?: number | undefined
  readonly result: TestResult
  /** The report says that it was repeated after a failure. */
  readonly isRerun: boolean
  readonly words: { readonly type: string; readonly message: string; readonly stack: string }
}

/** Called by the readers of all formats, in the report's order. */
export interface CaseSink {
  beginSuite(suite: ReportedSuite): void
  case(reported: ReportedCase): void
  endSuite(): void
}

export interface CollectorOptions {
  /** Cases whose result is used; the rest is only counted. */
  readonly mostCases: number
  /** Longest text that is kept of a message or a stack trace, UTF-16 units. */
  readonly longestText: number
  /** Cases that are kept with their times, for spans. */
  readonly keptCases: number
}

export interface TestCollector extends CaseSink {
  /** `fault`: why the report could not be read to its end. */
  collected(fault?: ReportFault): { readonly report: TestReport; readonly outcomes: TestOutcomes }
}

/** Limits of what is kept of a report. */
const most = { suites: 1_000, failures: 100, flaky: 100, failedTests: 1_000, slowest: 10 } as const

/** A case after all its repetitions within its suite. */
interface CaseState {
  readonly hash: number
  readonly test: TestName
  result: TestResult
  flaky: boolean
  seconds: number
  failure?: TestFailure | undefined
}

interface OpenSuite {
  readonly reported: ReportedSuite
  hasSuites: boolean
  readonly cases: Map<number, CaseState>
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
  const dropped = { cases: 0, suites: 0, failures: 0 }
  let taken = 0
  let keptCases = 0
  /** Failures with a message, of suites that are still open. */
  let pendingWords = 0

  function take(suite: OpenSuite, reported: ReportedCase): void {
    const hash = testHashOf(reported)
    const known = suite.cases.get(hash)
    if (known === undefined) suite.cases.set(hash, firstRun(suite.reported, reported, hash))
    else repeat(known, suite.reported, reported)
  }

  function firstRun(suite: ReportedSuite, reported: ReportedCase, hash: number): CaseState {
    const test = testNameOf(reported, suite.name)
    const { result, isRerun, seconds = 0 } = reported
    return { hash, test, result, flaky: isRerun, seconds, failure: failureOf(suite, test, reported) }
  }

  /** Another run of the same case. A case that failed once and passed once has passed. */
  function repeat(known: CaseState, suite: ReportedSuite, reported: ReportedCase): void {
    const failedOnce = isFailed(known.result) || isFailed(reported.result)
    known.flaky ||= reported.isRerun || failedOnce
    known.seconds += reported.seconds ?? 0
    if (known.result === 'skip' || (isFailed(known.result) && reported.result === 'pass')) {
      if (known.failure !== undefined) pendingWords -= 1
      known.result = reported.result
      known.failure = failureOf(suite, known.test, reported)
    }
  }

  function failureOf(suite: ReportedSuite, test: TestName, reported: ReportedCase): TestFailure | undefined {
    const { result, file = suite.file, line, seconds, words } = reported
    if (result !== 'fail' && result !== 'error') return undefined
    if (failures.length + pendingWords >= most.failures) return undefined
    pendingWords += 1
    const text = (value: string) => (value.trim() === '' ? undefined : shortened(value, options.longestText))
    const message = words.message.trim() === '' ? firstLine(words.stack) : words.message
    return {
      ...test,
      result,
      ...{ file: file && text(file), line, seconds },
      ...{ type: text(words.type), message: text(message), stack: text(words.stack) },
    }
  }

  function close({ reported, hasSuites, cases }: OpenSuite): void {
    let own = 0
    let isFailing = false
    const kept: TestCase[] = []
    for (const state of cases.values()) {
      count(state)
      own += state.seconds
      isFailing ||= isFailed(state.result)
      if (keptCases < options.keptCases) {
        keptCases += 1
        kept.push({ name: state.test.name, result: state.result, seconds: state.seconds })
      }
    }
    // A suite that only contains suites has no results of its own.
    if (cases.size === 0) return
    const seconds = (hasSuites ? undefined : reported.seconds) ?? own
    totals.seconds += seconds
    if (suites.length >= most.suites) {
      dropped.suites += 1
      return
    }
    const name = reported.name === '' ? ([...cases.values()][0]?.test.suite ?? '') : reported.name
    suites.push({
      ...{ name: testNameOf({ name: '', classname: '' }, name).suite, seconds, failed: isFailing, count: cases.size },
      ...(reported.startedAt === undefined ? {} : { startedAt: reported.startedAt }),
      ...(kept.length === 0 ? {} : { cases: kept }),
    })
  }

  function count({ hash, test, result, flaky: isFlaky, failure, seconds }: CaseState): void {
    totals.total += 1
    totals[counts[result]] += 1
    if (isFlaky) {
      totals.flaky += 1
      if (flaky.size < most.flaky) flaky.set(hash, test)
    }
    if (result === 'pass') passed.add(hash)
    noteSlow({ hash, ...test, seconds })
    if (!isFailed(result)) return
    if (failed.size < most.failedTests) failed.set(hash, test)
    if (failure === undefined) dropped.failures += 1
    else {
      failures.push(failure)
      pendingWords -= 1
    }
  }

  function noteSlow(test: SlowTest): void {
    const least = slowest.at(-1)
    if (test.seconds <= 0 || (slowest.length >= most.slowest && test.seconds <= (least?.seconds ?? 0))) return
    if (slowest.some(({ hash }) => hash === test.hash)) return
    slowest.push(test)
    slowest.sort((a, b) => b.seconds - a.seconds)
    if (slowest.length > most.slowest) slowest.pop()
  }

  function endSuite(): void {
    const suite = open.pop()
    if (suite !== undefined) close(suite)
  }

  return {
    beginSuite: reported => {
      const around = open.at(-1)
      if (around !== undefined) around.hasSuites = true
      open.push({ reported, hasSuites: false, cases: new Map() })
    },
    case: reported => {
      if (taken >= options.mostCases) {
        dropped.cases += 1
        return
      }
      taken += 1
      if (open.length === 0) open.push({ reported: { name: '' }, hasSuites: false, cases: new Map() })
      const suite = open.at(-1)
      if (suite !== undefined) take(suite, reported)
    },
    endSuite,
    collected: fault => {
      while (open.length > 0) endSuite()
      const cut = new ReportFault(
        'too_many',
        `The report has ${taken + dropped.cases} cases; ${taken} of them were read.`,
      )
      const why = fault ?? (dropped.cases > 0 ? cut : undefined)
      // A test that failed in one suite and passed in another has failed.
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

function isFailed(result: TestResult): boolean {
  return result === 'fail' || result === 'error'
}

function firstLine(text: string): string {
  return text.trimStart().split(/\r?\n/, 1)[0] ?? ''
}

/** A copy, because a slice would keep the whole string in memory. */
function shortened(text: string, limit: number): string {
  return Buffer.from(text.slice(0, limit).toWellFormed()).toString()
}
