// Groups the cases of one suite into tests: some cases are further runs of the same test.
//
// Data-driven tests share a name, and some tests have no name. So cases with the same name are treated as different tests, and the second one gets
// the ordinal 2. They are treated as runs of one test only if the report shows it, in one of two ways:
//   - the number in `attempt`, `retry` or `rerun` of a case is higher than in the previous case with the same name; or
//   - the suite declares a number of tests, has more cases than that, and exactly that many distinct names.
// File and line count as part of the name. The last run that was not skipped decides whether the test passed. A test is flaky if at least one of its
// runs failed and at least one passed.
import { createHash } from 'node:crypto'
import { maxSecret } from '../../lib/text-redaction.ts'
import { truncated } from '../../lib/plain-text.ts'
import type { TestFailure, TestName, TestResult } from '../../model/test-report.ts'

// Computes a test's name and the hash that identifies the test across all runs of its job.
interface NamedCase {
  readonly name: string
  readonly classname: string
  readonly file?: string | undefined
}

/**
 * Maximum length of an exported test name, because parameters in the name may be arbitrarily long. A longer name is kept until it has been redacted.
 */
export const maxTestName = 1_024
const maxKept = maxTestName + maxSecret

/**
 * Returns the name of a test. `name`: the class and the name, or only the name if it already begins with the class. `suite`: the suite's name, or the
 * class if the suite has none.
 */
export function testNameOf({ name, classname }: NamedCase, suite: string): TestName {
  const full = classname === '' || name.startsWith(classname) ? name : name === '' ? classname : `${classname}.${name}`
  return { suite: truncated(suite === '' ? classname : suite, maxKept), name: truncated(full, maxKept) }
}

/**
 * Returns the first 48 bits of a SHA-256 of class and name (file and name if there is no class). If several tests share this name, the hash of the
 * second and later ones also includes their ordinal. The suite is not included, because some reports name suites after the machine or the time. In a
 * report of 100,000 tests, the probability that two of them have the same hash is 1 in 50,000.
 */
function testHashOf({ name, classname, file = '' }: NamedCase, ordinal?: number): number {
  const digest = createHash('sha256')
    .update(`${classname === '' ? file : classname}\n${name}${ordinal === undefined ? '' : `\n${ordinal}`}`)
    .digest()
  return digest.readUIntBE(0, 6)
}

export interface CaseRun extends NamedCase {
  readonly line?: number | undefined
  readonly seconds?: number | undefined
  readonly result: TestResult
  /** Number of failures and errors in this case. It covers several runs if the case itself reports that the test was rerun. */
  readonly failures: number
  /** True if the suite itself failed, rather than one of its tests. */
  readonly isOfSuite?: boolean | undefined
  /** True if the error occurred in the teardown after the run that the previous case reported. */
  readonly isTeardown?: boolean | undefined
  /** The run number in the report; 0 if the report has none. */
  readonly run: number
}

/** A test: a case and its reruns. */
export interface TestState {
  readonly hash: number
  readonly test: TestName
  result: TestResult
  /** `failures` and `passes`: how many runs of the test failed and passed. */
  failures: number
  passes: number
  seconds: number | undefined
  failure: TestFailure | undefined
}

interface Known extends TestState {
  /** The hash of the test's name, followed by its file and line. */
  readonly identity: string
  /** The number of the test's last run. */
  run: number
  readonly isTeardown: boolean
  readonly isOfSuite: boolean
}

export interface SuiteCases {
  /** Adds a case. If the case failed, `failureOf` is called once. */
  add(run: CaseRun, failureOf: (test: TestName) => TestFailure | undefined): void
  /** Returns the tests in report order. `declared`: the number of tests that the suite declares. */
  tests(declared: number | undefined): readonly TestState[]
}

/**
 * Collects the cases of one suite. `suite`: the suite's name. `onRelease` is called for each failure that is dropped because another run of the same
 * test decides the result.
 */
export function createSuiteCases(suite: string, onRelease: () => void): SuiteCases {
  const all: Known[] = []
  /** The most recent test with each name, keyed by the hash of the name. */
  const latest = new Map<number, Known>()
  /** The first test with each name, file and line. With this map, `tests` needs no linear search through many cases. */
  const first = new Map<string, Known>()

  function repeat(known: Known, again: Known): void {
    // A teardown error belongs to the run that the previous case reported, so that run did not pass.
    if (again.isTeardown && known.result === 'pass') known.passes -= 1
    known.failures += again.failures
    known.passes += again.passes
    if (again.seconds !== undefined) known.seconds = (known.seconds ?? 0) + again.seconds
    known.run = again.run
    const isDecisive =
      known.result === 'skip' || (again.result !== 'skip' && isFailed(known.result) !== isFailed(again.result))
    const { failure } = isDecisive ? known : again
    if (failure !== undefined) onRelease()
    if (isDecisive) Object.assign(known, { result: again.result, failure: again.failure })
  }

  return {
    add: (reported, failureOf) => {
      const { file = '', line = '', result, failures, seconds, run, isOfSuite = false, isTeardown = false } = reported
      const name = testHashOf(reported)
      const last = latest.get(name)
      const identity = isOfSuite ? `suite ${all.length}` : `${name} ${file}:${line}`
      const isAgain = last?.identity === identity && run > last.run
      const ordinal = isAgain ? last.test.ordinal : last && (last.test.ordinal ?? 1) + 1
      const test = { ...testNameOf(reported, suite), ...(ordinal !== undefined && { ordinal }) }
      const failure = isFailed(result) ? failureOf(test) : undefined
      const hash = ordinal === undefined ? name : testHashOf(reported, ordinal)
      const known: Known = {
        ...{ hash, test, identity, run, result, seconds, failure, isOfSuite, isTeardown },
        ...{ failures, passes: result === 'pass' ? 1 : 0 },
      }
      if (isAgain) repeat(last, known)
      else {
        latest.set(name, known)
        all.push(known)
        if (!first.has(identity)) first.set(identity, known)
      }
    },
    tests: declared => {
      // The declared number of tests does not include failures of the suite itself.
      const own = all.filter(({ isOfSuite }) => isOfSuite).length
      if (declared === undefined || declared + own >= all.length || first.size !== declared + own) return all
      for (const known of all) {
        const one = first.get(known.identity) ?? known
        if (one !== known) repeat(one, known)
      }
      return [...first.values()]
    },
  }
}

export function isFailed(result: TestResult | undefined): result is 'fail' | 'error' {
  return result === 'fail' || result === 'error'
}
