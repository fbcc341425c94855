// Redacts secrets and e-mail addresses in all texts of a test report, and then cuts the texts, before any of it is stored or exported. Tests are
// distinguished by their original names, before this. The event loop gets its turns meanwhile.
import { inTurns, redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import { maxTestName } from './test-name.ts'
import { maxWords } from './junit-cases.ts'
import type { TestsRead } from '../port/inside.ts'
import type { TestName, TestSuite } from '../../model/test-report.ts'

/** `maxText`: maximum length of a message or a stack trace, UTF-16 units. */
export async function cleanTests(
  { report, outcomes }: TestsRead,
  redactText: RedactText,
  maxText: number,
): Promise<TestsRead> {
  const [cleanName, cleanText] = [maxTestName, Math.min(maxText, maxWords)].map(limit =>
    inTurns(text => redactedTo(limit, text, redactText)),
  ) as [Clean, Clean]
  const cleanOptional = async (value: string | undefined) => (value === undefined ? undefined : cleanText(value))
  const withCleanName = async <T extends TestName>(test: T): Promise<T> => ({
    ...test,
    ...{ suite: await cleanName(test.suite), name: await cleanName(test.name) },
  })
  const withCleanNames = async (tests: ReadonlyMap<number, TestName>) =>
    new Map(await inOrder([...tests], async ([hash, test]) => [hash, await withCleanName(test)] as const))
  const cleanSuite = async (suite: TestSuite): Promise<TestSuite> => ({
    ...{ ...suite, name: await cleanName(suite.name) },
    ...(suite.cases && {
      cases: await inOrder(suite.cases, async one => ({ ...one, name: await cleanName(one.name) })),
    }),
  })
  return {
    report: {
      ...report,
      suites: await inOrder(report.suites, cleanSuite),
      failures: await inOrder(report.failures, async failure => ({
        ...(await withCleanName(failure)),
        ...{ file: await cleanOptional(failure.file), type: await cleanOptional(failure.type) },
        ...{ message: await cleanOptional(failure.message), stack: await cleanOptional(failure.stack) },
      })),
      flaky: await inOrder(report.flaky, withCleanName),
    },
    outcomes: {
      ...outcomes,
      failed: await withCleanNames(outcomes.failed),
      flaky: await withCleanNames(outcomes.flaky),
      slowest: await inOrder(outcomes.slowest, withCleanName),
    },
  }
}

type Clean = (text: string) => Promise<string>

async function inOrder<T, R>(items: readonly T[], change: (item: T) => Promise<R>): Promise<R[]> {
  const changed: R[] = []
  for (const item of items) changed.push(await change(item))
  return changed
}
