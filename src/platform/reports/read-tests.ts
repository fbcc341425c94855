// Reads the tests of a job, and redacts their names, messages and stack traces. The source is the job's JUnit artifact, or the report that the
// platform has parsed.
import { createTestCollector, type CollectorOptions } from './test-collector.ts'
import { groupNameOf } from '../../model/job.ts'
import { readTestReport } from './test-report-json.ts'
import { maxSecret, inTurns, redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import { PlatformError } from '../port.ts'
import { reportCaps, type ReportCaps } from './report-fault.ts'
import { ReportFault } from './report-fault.ts'
import { runsScript } from '../job-log/sections.ts'
import { testArtifact } from '../../model/observation.ts'
import { createJunitCases, maxWords } from './junit-cases.ts'
import { readElements } from './xml-elements.ts'
import { maxTestName } from './suite-cases.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobCalls } from '../rest/jobs.ts'
import type { InsideRules, TestReports, TestsRead } from '../port/inside.ts'
import type { TestName, TestSuite } from '../../model/test-report.ts'

export function createTestReports(
  client: Pick<JobCalls, 'jobArtifact' | 'testReport'>,
  { redactText, maxText, keptCases }: Pick<InsideRules, 'redactText' | 'maxText' | 'keptCases'>,
): TestReports {
  const kept = { maxText: maxText + maxSecret, keptCases }
  const clean = async (tests: TestsRead): Promise<TestsRead> => cleanTests(tests, redactText, maxText)
  return {
    ofJob: async (projectId, job, call) => {
      if ((job.artifactSizes?.[testArtifact] ?? 0) > reportCaps.packed) return tooLarge()
      const found = await client.jobArtifact(projectId, job.id, { type: testArtifact }, call, async body =>
        readJunit(body, { ...kept, maxSeconds: maxSecondsOf(job) }),
      )
      if (found.report.fault?.reason === 'archive') throw archiveError(job)
      return clean(found)
    },
    ofPipeline: async (projectId, pipelineId, call) => {
      const report = await client.testReport(projectId, pipelineId, call)
      return {
        of: async job => {
          const group = groupNameOf(job.name ?? '')
          // Parallel jobs share one suite, and their total time is unknown, so there is no maximum time for the suite.
          const maxSeconds = group === job.name ? maxSecondsOf(job) : undefined
          const found = await readTestReport(report, group, { ...kept, maxCases: reportCaps.cases, maxSeconds })
          return found && clean(found)
        },
      }
    },
    isScript: ({ kind, name }) => kind === 'runner' && runsScript(name),
  }
}

/**
 * Returns the maximum plausible time in the job's test report. It may exceed the job's duration, because some reports sum the times of tests that ran
 * in parallel.
 */
function maxSecondsOf({ start, end }: JobSnapshot): number {
  return 10 * Math.max(1, (end - start) / 1_000)
}

/** Returns the result for a report that is not requested because it is too large. */
function tooLarge(): TestsRead {
  const collector = createTestCollector({ maxCases: 0, maxText: 0, keptCases: 0 })
  return collector.collected(new ReportFault('too_large', `The report has more than ${reportCaps.packed} bytes.`))
}

function archiveError({ id }: JobSnapshot): PlatformError {
  return new PlatformError({
    kind: 'unexpected-answer',
    affectsAllRequests: true,
    what: `The platform responded with an archive instead of the test report of job ${id}.`,
    remedy: 'The platform is too old to serve reports by type, so the report that it has parsed is used.',
  })
}

// Reads a job's JUnit report as a stream. Returns the results of its tests and, if the report could not be read to its end, the reason.
export interface TestReadOptions extends Omit<CollectorOptions, 'maxCases'> {
  readonly caps?: ReportCaps | undefined
}

/**
 * Reads a JUnit report. `source`: the artifact's bytes, which are a gzip of one or more documents. Rejects only with an error from `source` itself.
 */
export async function readJunit(source: AsyncIterable<Uint8Array>, options: TestReadOptions): Promise<TestsRead> {
  const { caps = reportCaps, ...kept } = options
  const collector = createTestCollector({ ...kept, maxCases: caps.cases })
  const cases = createJunitCases(collector, caps)
  const fault = await readElements(source, caps, cases, () =>
    cases.sawSuite ? undefined : new ReportFault('not_junit', 'The report contains no test suites.'),
  )
  cases.end()
  return collector.collected(fault)
}

// Redacts secrets and e-mail addresses in all strings of a test report, and then truncates the strings, before anything is stored or exported. Tests
// are distinguished by their original names, before redaction. The work is spread over several turns of the event loop.

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
