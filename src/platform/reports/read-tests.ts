// Reads the tests of a job, from its JUnit artifact or from the report that the platform has parsed, and redacts their texts.
import { cleanTests } from './clean-tests.ts'
import { createTestCollector } from './test-collector.ts'
import { groupNameOf } from '../../model/job-name.ts'
import { readTestReport } from './test-report-json.ts'
import { maxSecret, type RedactText } from '../../lib/text-redaction.ts'
import { PlatformError } from '../port.ts'
import { readJunit } from './junit.ts'
import { reportCaps } from './caps.ts'
import { ReportFault } from './report-fault.ts'
import { runsScript } from '../job-log/runner-sections.ts'
import { testArtifact } from '../../model/observation.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { RestClient } from '../rest/client.ts'
import type { TestReports, TestsRead } from '../port/inside.ts'

export interface TestReportsOptions {
  readonly client: Pick<RestClient, 'jobArtifact' | 'testReport'>
  readonly redactText: RedactText
  /** Maximum length of a message or stack trace that is exported, UTF-16 units. */
  readonly maxText: number
  /** Maximum number of cases that are kept with their times. */
  readonly keptCases: number
}

export function createTestReports({ client, redactText, maxText, keptCases }: TestReportsOptions): TestReports {
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
          // Parallel jobs share one suite, and the total time of these jobs is not known.
          const maxSeconds = group === job.name ? maxSecondsOf(job) : undefined
          const found = await readTestReport(report, group, { ...kept, maxCases: reportCaps.cases, maxSeconds })
          return found && clean(found)
        },
      }
    },
    isScript: ({ kind, name }) => kind === 'runner' && runsScript(name),
  }
}

/** Maximum plausible time in the job's report. It may exceed the job's duration, because some reports add up what ran in parallel. */
function maxSecondsOf({ start, end }: JobSnapshot): number {
  return 10 * Math.max(1, (end - start) / 1_000)
}

/** The answer for a report that is not requested because it is too large. */
function tooLarge(): TestsRead {
  const collector = createTestCollector({ maxCases: 0, maxText: 0, keptCases: 0 })
  return collector.collected(new ReportFault('too_large', `The report has more than ${reportCaps.packed} bytes.`))
}

function archiveError({ id }: JobSnapshot): PlatformError {
  return new PlatformError({
    kind: 'unexpected-answer',
    affectsAllRequests: true,
    what: `The platform answered with an archive instead of the test report of job ${id}.`,
    remedy: "It is too old to serve reports by type; the platform's own parsed report is used.",
  })
}
