// The cases of one suite, and which of them are runs of the same test.
//
// Data-driven tests share a name, and some tests have none, so cases of one name are tests of their own: the second has the ordinal 2. They are runs
// of one test only if the report says so:
//   - the number in `attempt`, `retry` or `rerun` of a case is greater than that of the case of its name before it; or
//   - the suite says how many tests it has, lists more cases, and these have exactly so many different names.
// The file and the line belong to the name. Of the runs of a test the last one that was not skipped decides whether it passed.
import { testHashOf, testNameOf, type NamedCase } from './test-name.ts'
import type { TestFailure, TestName, TestResult } from '../../model/test-report.ts'

export interface CaseRun extends NamedCase {
  readonly line?: number | undefined
  readonly seconds?: number | undefined
  readonly result: TestResult
  /** The report says that it was repeated after a failure, in this case itself. */
  readonly isRerun: boolean
  /** Which run of its test this is, where the report says so; else 0. */
  readonly run: number
}

/** A test: a case with all its further runs. */
export interface TestState {
  readonly hash: number
  readonly test: TestName
  result: TestResult
  isFlaky: boolean
  seconds: number | undefined
  failure: TestFailure | undefined
}

interface Known extends TestState {
  /** The hash of its name, and where it is. */
  readonly identity: string
  /** The number of its last run. */
  run: number
}

export interface SuiteCases {
  /** `failureOf`: called once, if the case failed. */
  add(run: CaseRun, failureOf: (test: TestName) => TestFailure | undefined): void
  /** The tests, in the report's order. `declared`: how many the suite says it has. */
  tests(declared: number | undefined): readonly TestState[]
}

/** `suite`: its name. `onRelease`: called for each failure that is not reported after all, as a later run passed. */
export function createSuiteCases(suite: string, onRelease: () => void): SuiteCases {
  const all: Known[] = []
  /** The last test of each name, by the hash of the name. */
  const latest = new Map<number, Known>()
  /** The first test of each name and place: the end of a suite of many cases need not look for them. */
  const first = new Map<string, Known>()

  function repeat(known: Known, again: Known): void {
    known.isFlaky ||= again.isFlaky || isFailed(known.result) || isFailed(again.result)
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
      const { file = '', line = '', result, isRerun, seconds, run } = reported
      const name = testHashOf(reported)
      const last = latest.get(name)
      const identity = `${name} ${file}:${line}`
      const isAgain = last?.identity === identity && run > last.run
      const ordinal = isAgain ? last.test.ordinal : last && (last.test.ordinal ?? 1) + 1
      const test = { ...testNameOf(reported, suite), ...(ordinal !== undefined && { ordinal }) }
      const failure = isFailed(result) ? failureOf(test) : undefined
      const hash = ordinal === undefined ? name : testHashOf(reported, ordinal)
      const known: Known = { hash, test, identity, run, result, isFlaky: isRerun, seconds, failure }
      if (isAgain) repeat(last, known)
      else {
        latest.set(name, known)
        all.push(known)
        if (!first.has(identity)) first.set(identity, known)
      }
    },
    tests: declared => {
      if (declared === undefined || declared >= all.length || first.size !== declared) return all
      for (const known of all) {
        const one = first.get(known.identity) ?? known
        if (one !== known) repeat(one, known)
      }
      return [...first.values()]
    },
  }
}

export function isFailed(result: TestResult): result is 'fail' | 'error' {
  return result === 'fail' || result === 'error'
}
