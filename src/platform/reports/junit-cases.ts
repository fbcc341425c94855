// Turns XML elements into test suites and test cases. It supports all JUnit dialects: nested suites, several results in one case, reruns, and
// failures of the suite itself.
import { parseWireTime } from '../wire-read.ts'
import { ReportFault } from './report-fault.ts'
import { maxSecret } from '../../lib/text-redaction.ts'
import type { Attributes, ElementSink } from './xml-elements.ts'
import { isFailed } from './suite-cases.ts'
import type { CaseSink, ReportedCase } from './test-collector.ts'
import type { ReportCaps } from './report-fault.ts'
import type { TestResult } from '../../model/test-report.ts'

interface OpenCase {
  readonly attributes: Attributes
  /** True if the case represents a failure of its suite, for example because the suite could not be loaded. */
  readonly isOfSuite: boolean
  result: TestResult
  /** Number of failures and errors in the case, across all its runs. */
  failures: number
  /** `type`, `message` and `stack` come from the element that decides the case's result: the first of those with the most severe result. */
  type: string
  message: string
  stack: string
}

interface OpenElement {
  readonly name: string
  readonly kind: 'suites' | 'suite' | 'suiteResult' | 'case' | 'words' | 'other'
}

/** Elements that can decide a case's result. If a case has several, the most severe one decides, regardless of order. */
const results: Readonly<Record<string, TestResult>> = { failure: 'fail', error: 'error', skipped: 'skip' }
const weights: Readonly<Record<TestResult, number>> = { pass: 0, skip: 1, error: 2, fail: 3 }
/** Matches the elements for the failed runs of a rerun test case (Maven Surefire). */
const reruns = /^(?:flaky|rerun)(?:Failure|Error)$/
/**
 * Matches the message of the second case that pytest reports for a failed test whose teardown also raised an error. Both cases belong to the same
 * run.
 */
const pytestTeardown = /^(?:failed on teardown|test teardown failure)\b/
/** Matches attribute values that mark a test case as not run. */
const notRun = /^(?:notrun|skipped|suppressed|ignored|disabled)$/i

/** Maximum length of an exported stack trace, characters. A longer text is kept until it has been redacted. */
export const maxWords = 65_536
const maxWordsLength = maxWords + maxSecret

export interface JunitCases extends ElementSink {
  /** Whether the report contains at least one test suite. */
  readonly sawSuite: boolean
  /** Closes all open elements. */
  end(): void
}

export function createJunitCases(sink: CaseSink, caps: ReportCaps): JunitCases {
  const stack: OpenElement[] = []
  /** The names of the suites whose elements are open. */
  const suites: string[] = []
  let openCase: OpenCase | undefined
  let sawSuite = false

  function kindOf(name: string, attributes: Attributes): OpenElement['kind'] {
    if (openCase !== undefined) return kindWithin(openCase, name, attributes)
    const result = results[name]
    if (isFailed(result) && isSuite(stack.at(-1))) {
      // Some frameworks omit suite names, but every case needs a name.
      const suite = suites.findLast(one => one !== '') ?? 'test suite'
      openCase = caseOf({ name: suite }, true)
      openCase.failures = 1
      begin(openCase, result, attributes)
      return 'suiteResult'
    }
    switch (name) {
      // If a root element starts while other elements are still open, the previous document was incomplete.
      case 'testsuites':
        if (stack.length > 0) closeAll()
        return 'suites'
      case 'testsuite':
        return 'suite'
      case 'testcase':
        return 'case'
      default:
        return 'other'
    }
  }

  function kindWithin(own: OpenCase, name: string, attributes: Attributes): OpenElement['kind'] {
    const isDirect = stack.at(-1)?.kind === 'case'
    if (isDirect && reruns.test(name)) {
      own.failures += 1
      return 'other'
    }
    const result = results[name]
    if (!isDirect || result === undefined) return 'other'
    if (isFailed(result)) own.failures += 1
    if (weights[result] <= weights[own.result]) return 'other'
    begin(own, result, attributes)
    return 'words'
  }

  function begin(own: OpenCase, result: TestResult, { type = '', message = '' }: Attributes): void {
    Object.assign(own, { result, type, message, stack: '' })
  }

  function closeElement(): void {
    const element = stack.pop()
    if ((element?.kind === 'case' || element?.kind === 'suiteResult') && openCase !== undefined) {
      sink.case(reported(openCase))
      openCase = undefined
    }
    if (isSuite(element)) {
      suites.pop()
      sink.endSuite()
    }
  }

  function closeAll(): void {
    // A case whose element was never closed has no result and is omitted.
    openCase = undefined
    while (stack.length > 0) closeElement()
  }

  return {
    get sawSuite() {
      return sawSuite
    },
    document: closeAll,
    open: (name, attributes) => {
      if (stack.length >= caps.depth) {
        throw new ReportFault('too_deep', `The report has more than ${caps.depth} nested elements.`)
      }
      const local = name.slice(name.indexOf(':') + 1)
      const kind = kindOf(local, attributes)
      stack.push({ name, kind })
      if (kind === 'suite' || kind === 'suites') {
        sawSuite = true
        const { name: own = '', file = attributes.filepath, tests, failures, errors } = attributes
        suites.push(own === '' ? (file ?? '') : own)
        sink.beginSuite({
          ...{ name: own, file, tests: readOrdinal(tests) },
          failures: (readOrdinal(failures) ?? 0) + (readOrdinal(errors) ?? 0),
          seconds: readSeconds(attributes.time) ?? readSeconds(attributes.duration),
          startedAt: parseWireTime(attributes.timestamp),
        })
      }
      if (kind === 'case') openCase = caseOf(attributes, false)
    },
    text: text => {
      const kind = stack.at(-1)?.kind
      if (kind !== 'words' && kind !== 'suiteResult') return
      if (openCase !== undefined && openCase.stack.length < maxWordsLength) {
        openCase.stack += text.slice(0, maxWordsLength - openCase.stack.length)
      }
    },
    close: name => {
      if (stack.some(element => element.name === name)) {
        while (stack.at(-1)?.name !== name) closeElement()
        closeElement()
      }
    },
    end: closeAll,
  }
}

function isSuite(element: OpenElement | undefined): boolean {
  return element?.kind === 'suite' || element?.kind === 'suites'
}

function caseOf(attributes: Attributes, isOfSuite: boolean): OpenCase {
  return { attributes, isOfSuite, result: 'pass', failures: 0, type: '', message: '', stack: '' }
}

function reported({ attributes, isOfSuite, result, failures, type, message, stack }: OpenCase): ReportedCase {
  const { name = '', classname = '', file, filepath, line, lineno, time, status, result: ended } = attributes
  const run = attributes.attempt ?? attributes.retry ?? attributes.rerun
  const isNotRun = result === 'pass' && (notRun.test(status ?? '') || notRun.test(ended ?? ''))
  return {
    name,
    classname,
    file: file ?? filepath,
    line: readOrdinal(line ?? lineno),
    seconds: readSeconds(time),
    result: isNotRun ? 'skip' : result,
    ...{ failures, isOfSuite, isTeardown: pytestTeardown.test(message) },
    run: run === 'true' ? 1 : (readOrdinal(run) ?? 0),
    words: { type, message, stack },
  }
}

// Parses the numbers in test reports. No specification defines their format, and test frameworks write them in any locale.

/**
 * Parses a number of seconds, such as `0.103`, `0,103`, `1,234.5`, `1.234,5` or `1e-05`. Returns undefined for anything else, including negative
 * numbers and NaN.
 */
export function readSeconds(text: string | undefined): number | undefined {
  const trimmed = text?.trim()
  if (trimmed === undefined || trimmed === '' || trimmed.length > 40) return undefined
  const plain = withPoint(trimmed.replace(/[\s'\u00a0]/g, ''))
  if (!/^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(plain)) return undefined
  return Number(plain)
}

/**
 * Replaces the decimal separator with a point. If a number contains both separators, the last one is the decimal separator. A single comma also
 * counts as a decimal separator, because times have three decimals.
 */
function withPoint(text: string): string {
  const comma = text.lastIndexOf(',')
  const point = text.lastIndexOf('.')
  if (comma < 0) return text
  if (point > comma) return text.replaceAll(',', '')
  if (point >= 0) return text.replaceAll('.', '').replace(',', '.')
  return text.indexOf(',') === comma ? text.replace(',', '.') : text.replaceAll(',', '')
}

/** Parses a positive integer, such as a line number. */
function readOrdinal(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined
  const ordinal = Number(text)
  return ordinal > 0 ? ordinal : undefined
}
