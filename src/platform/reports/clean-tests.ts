// Redacts secrets and e-mail addresses in all texts of a test report, and then cuts them, before any of it is stored or exported. Tests are distinguished
// by their names before that. Other work gets its turns meanwhile.
import { inTurns, redactedTo, type RedactText } from '../text-redaction.ts'
import { maxTestName } from './test-name.ts'
import { maxWords } from './junit-cases.ts'
import type { TestsRead } from '../port/inside.ts'
import type { TestName, TestSuite } from '../../model/test-report.ts'

/** `longest`: of a message or a stack trace, UTF-16 units. */
export async function cleanTests(
  { report, outcomes }: TestsRead,
  redactText: RedactText,
  longest: number,
): Promise<TestsRead> {
  const [cleanName, cleanText] = [maxTestName, Math.min(longest, maxWords)].map(limit =>
    inTurns(text => redactedTo(limit, text, redactText)),
  ) as [Clean, Clean]
  const words = async (value: string | undefined) => (value === undefined ? undefined : cleanText(value))
  const named = async <T extends TestName>(test: T): Promise<T> => ({
    ...test,
    ...{ suite: await cleanName(test.suite), name: await cleanName(test.name) },
  })
  const all = async (tests: ReadonlyMap<number, TestName>) =>
    new Map(await inOrder([...tests], async ([hash, test]) => [hash, await named(test)] as const))
  const suiteOf = async (suite: TestSuite): Promise<TestSuite> => ({
    ...{ ...suite, name: await cleanName(suite.name) },
    ...(suite.cases && {
      cases: await inOrder(suite.cases, async one => ({ ...one, name: await cleanName(one.name) })),
    }),
  })
  return {
    report: {
      ...report,
      suites: await inOrder(report.suites, suiteOf),
      failures: await inOrder(report.failures, async failure => ({
        ...(await named(failure)),
        ...{ file: await words(failure.file), type: await words(failure.type) },
        ...{ message: await words(failure.message), stack: await words(failure.stack) },
      })),
      flaky: await inOrder(report.flaky, named),
    },
    outcomes: {
      ...outcomes,
      failed: await all(outcomes.failed),
      flaky: await all(outcomes.flaky),
      slowest: await inOrder(outcomes.slowest, named),
    },
  }
}

type Clean = (text: string) => Promise<string>

async function inOrder<T, R>(items: readonly T[], change: (item: T) => Promise<R>): Promise<R[]> {
  const changed: R[] = []
  for (const item of items) changed.push(await change(item))
  return changed
}
