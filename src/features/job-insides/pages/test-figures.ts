// Figures about tests, for the pages and the JSON API: flaky tests, the tests that fail most often, and the slowest tests.
import { given } from '../../../console/layout/address.ts'
import { groupsOf, groupsShape } from '../../../console/layout/groups.ts'
import { z } from 'zod'
import { millis, ms, own as ownShape, place, type Shaped } from '../../../console/layout/shape.ts'
import { chartDays, spans } from '../../../console/layout/trend-spans.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesSettings, PagesSources } from '../../../console/ports.ts'
import type { Scope } from '../../../console/layout/scope-heading.ts'
import { testsIn, type FlakyDay, type TestFigures, type TestQuestion } from '../test-reads.ts'

/** The longest period is 30 days, because test results are stored for that long. */
export const testSpanNames = ['24h', '7d', '30d'] as const
type TestSpanName = (typeof testSpanNames)[number]

/** The maximum number of flaky tests that are summed. */
export const maxSummed = 5_000

export interface AskedTests extends Scope {
  readonly span: TestSpanName
  /** The maximum number of rows in each list. */
  readonly limit: number
}

const figuresShape = z.array(
  z.object({
    suite: z.string(),
    name: z.string(),
    ...place,
    job: z.string().describe('Job name without the parallel index.'),
    times: z.number().describe('How often the test was flaky, failed, or was among the slowest of its report.'),
    lastAt: millis,
    jobId: z.number().describe('The latest job in which this happened.'),
    pipelineId: z.number(),
    costMs: ms.describe(
      'For a failed or flaky test, the duration of the jobs that failed with it; for a slow test, its own duration; in ms.',
    ),
  }) satisfies z.ZodType<TestFigures>,
)
const ofShape = { span: z.string<TestSpanName>(), since: millis, project: z.string().optional(), own: ownShape }

const flakySums = {
  tests: z.number().describe(`Number of flaky tests, at most ${maxSummed}.`),
  jobs: z.number().describe('Number of jobs that failed with any of these tests.'),
  lostMs: ms.describe('The duration of these jobs, in ms. Each counts once, however many of its tests are flaky.'),
}
const flakyLineShape = z.object({ name: z.string(), ...flakySums })
type FlakyLine = Shaped<typeof flakyLineShape>
type FlakySum = Omit<FlakyLine, 'name'>

/** The shape of the list of flaky tests. The most expensive test is first. */
export const flakyTestsShape = z.object({
  ...ofShape,
  flaky: figuresShape,
  total: z.object(flakySums),
  ...groupsShape(flakyLineShape),
  days: z
    .array(
      z.object({
        at: millis,
        retried: z.number().describe('Tests that failed and passed on the same revision.'),
        repeated: z.number().describe('Tests that were repeated within one report until they passed.'),
      }) satisfies z.ZodType<FlakyDay>,
    )
    .describe(
      'Number of flaky tests found per UTC day: the last 30 days including today, or the last 7 if a shorter period is requested.',
    ),
})
type FlakyTests = Shaped<typeof flakyTestsShape>

export const costlyTestsShape = z.object({ ...ofShape, failed: figuresShape, slow: figuresShape })
type CostlyTests = Shaped<typeof costlyTestsShape>

type Sources = Pick<PagesSources, 'on'>

export async function flakyTests(
  parts: Sources,
  { groupBy }: Pick<PagesSettings, 'groupBy'>,
  asked: AskedTests,
  now: Millis,
): Promise<FlakyTests> {
  const { of, figures } = questions(parts, { ...asked, limit: maxSummed }, now)
  const [flaky, times, days] = await Promise.all([
    figures('flaky'),
    testsIn(parts).flakyTime({ project: of.project, since: of.since }),
    testsIn(parts).flakyDays({ project: of.project, since: chartDays(asked.span, now).since }),
  ])
  // The times lost to individual tests cannot be added up, because one job may have failed with several flaky tests.
  const summed: readonly FlakyPart[] = [
    ...flaky.map(({ project }) => ({ project, tests: 1, jobs: 0, lostMs: 0 })),
    ...times.map(time => ({ ...time, tests: 0 })),
  ]
  return {
    ...{ ...of, days, total: flakySum(summed) },
    flaky: flaky.slice(0, asked.limit),
    ...groupsOf(summed, { scope: of.project, groupBy, pathOf: ({ project }) => project }, all =>
      all
        .map(({ name, items }) => ({ name, ...flakySum(items) }))
        .filter(({ tests }) => tests > 0)
        .sort(costliest),
    ),
  }
}

interface FlakyPart extends FlakySum {
  readonly project: string
}

function flakySum(all: readonly FlakySum[]): FlakySum {
  const sum = (of: keyof FlakySum): number => all.reduce((total, one) => total + one[of], 0)
  return { tests: sum('tests'), jobs: sum('jobs'), lostMs: sum('lostMs') }
}

function costliest(a: FlakyLine, b: FlakyLine): number {
  return b.lostMs - a.lostMs || b.tests - a.tests
}

export async function costlyTests(parts: Sources, asked: AskedTests, now: Millis): Promise<CostlyTests> {
  const { of, figures } = questions(parts, asked, now)
  const [failed, slow] = await Promise.all([figures('failed'), figures('slow')])
  return { ...of, failed, slow }
}

function questions(parts: Sources, { span, project, own, limit }: AskedTests, now: Millis) {
  const of = { span, project, own, since: now - spans[span].length }
  const figures = async (question: TestQuestion): Promise<readonly TestFigures[]> =>
    testsIn(parts).figures(question, { project, since: of.since, limit })
  return { of, figures }
}

/** Parses the parameters of a request. By default, the figures cover 30 days of all projects. */
export function askedTests(query: URLSearchParams, limit: number): AskedTests {
  const span = testSpanNames.find(name => name === query.get('span')) ?? '30d'
  return { span, project: given(query, 'project'), own: given(query, 'own'), limit }
}
