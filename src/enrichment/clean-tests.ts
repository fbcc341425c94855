// Takes secrets and e-mail addresses out of every text of a test report, before anything of it is kept or leaves. Tests are distinguished by what they were
// called before.
import type { RedactText } from '../platform/text-redaction.ts'
import type { ReadTests } from '../platform/reports/junit.ts'
import type { TestName } from '../model/test-report.ts'

/** A text is cut after its secrets were taken out: one that is cut through has no shape any more. */
export const longestSecret = 2_048

/** `longest`: of a message or a stack trace, UTF-16 units; what is cut off may have been half of a secret. */
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
