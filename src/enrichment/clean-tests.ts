// Redacts secrets and e-mail addresses in all texts of a test report, before any of it is stored or exported. Tests are distinguished by their names
// before that.
import type { RedactText } from '../platform/text-redaction.ts'
import type { ReadTests } from '../platform/reports/junit.ts'
import type { TestName } from '../model/test-report.ts'

/** Texts are kept this much longer than exported until they are redacted, because a secret that is cut in half would not be recognised. */
export const longestSecret = 2_048

/** `longest`: of a message or a stack trace, UTF-16 units. */
export function cleanTests({ report, outcomes }: ReadTests, redactText: RedactText, longest: number): ReadTests {
  const text = (value: string | undefined) =>
    value === undefined ? undefined : redactText(value).slice(0, longest).toWellFormed()
  const named = <T extends TestName>(test: T): T => ({
    ...test,
    suite: redactText(test.suite),
    name: redactText(test.name),
  })
  const all = (tests: ReadonlyMap<number, TestName>) => new Map([...tests].map(([hash, test]) => [hash, named(test)]))
  return {
    report: {
      ...report,
      suites: report.suites.map(suite => ({
        ...suite,
        name: redactText(suite.name),
        ...(suite.cases && { cases: suite.cases.map(one => ({ ...one, name: redactText(one.name) })) }),
      })),
      failures: report.failures.map(failure => ({
        ...named(failure),
        ...{ file: text(failure.file), type: text(failure.type) },
        ...{ message: text(failure.message), stack: text(failure.stack) },
      })),
      flaky: report.flaky.map(named),
    },
    outcomes: {
      ...outcomes,
      failed: all(outcomes.failed),
      flaky: all(outcomes.flaky),
      slowest: outcomes.slowest.map(named),
    },
  }
}
