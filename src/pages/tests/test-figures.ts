// Figures about tests, for the pages and the JSON API: flaky tests, the most failing, the slowest.
import { spans } from '../layout/trend-spans.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../ports.ts'
import type { TestFigures, TestQuestion } from '../../store/ports/test-memory.ts'

/** Test results are stored for 30 days. */
export const testSpanNames = ['24h', '7d', '30d'] as const
export type TestSpanName = (typeof testSpanNames)[number]

export interface AskedTests {
  readonly span: TestSpanName
  /** Full path; undefined: all projects. */
  readonly project?: string | undefined
  /** Rows of each list. */
  readonly limit: number
}

interface OfTests {
  readonly span: TestSpanName
  readonly since: Millis
  readonly project?: string | undefined
}

export interface FlakyTests extends OfTests {
  /** Most expensive first. The cost is the duration of the jobs that failed with the test. */
  readonly flaky: readonly TestFigures[]
}

export interface CostlyTests extends OfTests {
  readonly failed: readonly TestFigures[]
  /** The cost is the duration of the tests themselves. */
  readonly slow: readonly TestFigures[]
}

type Sources = Pick<PagesSources, 'tests'>

export async function flakyTests(parts: Sources, asked: AskedTests, now: Millis): Promise<FlakyTests> {
  const { of, figures } = questions(parts, asked, now)
  return { ...of, flaky: await figures('flaky') }
}

export async function costlyTests(parts: Sources, asked: AskedTests, now: Millis): Promise<CostlyTests> {
  const { of, figures } = questions(parts, asked, now)
  const [failed, slow] = await Promise.all([figures('failed'), figures('slow')])
  return { ...of, failed, slow }
}

function questions({ tests }: Sources, { span, project, limit }: AskedTests, now: Millis) {
  const of: OfTests = { span, project, since: now - spans[span].length }
  const figures = async (question: TestQuestion): Promise<readonly TestFigures[]> =>
    tests.figures(question, { project, since: of.since, limit })
  return { of, figures }
}

/** The question in a query. Default: 30 days of all projects. */
export function askedTests(query: URLSearchParams, limit: number): AskedTests {
  const project = query.get('project')?.trim() ?? ''
  const span = testSpanNames.find(name => name === query.get('span')) ?? '30d'
  return { span, project: project === '' ? undefined : project, limit }
}
