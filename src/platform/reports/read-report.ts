// Reads a job's reports of all types but tests, with one request for each.
import { readCoverage } from './coverage.ts'
import { readDotenv } from './dotenv.ts'
import { readFindings } from './findings.ts'
import { readMetrics } from './open-metrics.ts'
import { reportCaps } from './caps.ts'
import { ReportFault } from './report-fault.ts'
import { PlatformError } from '../port.ts'
import { switchOf, type ReportSwitch, type ReportType } from '../../model/job-reports.ts'
import type { RedactText } from '../../lib/text-redaction.ts'
import type { ReadReport, ReportRead } from '../port/inside.ts'
import type { RestClient } from '../rest/client.ts'

export interface ReadReportOptions {
  readonly client: Pick<RestClient, 'jobArtifact'>
  /** Whether the value of this key of a dotenv report may be exported. */
  readonly isAllowed: (key: string) => boolean
  readonly redactText: RedactText
}

type Read = (body: AsyncIterable<Uint8Array>, type: ReportType) => Promise<ReportRead>

export function createReadReport({ client, isAllowed, redactText }: ReadReportOptions): ReadReport {
  const readers: Readonly<Record<ReportSwitch, Read>> = {
    metrics: async body => readMetrics(body, redactText),
    dotenv: async body => readDotenv(body, isAllowed, redactText),
    coverage: async body => readCoverage(body),
    findings: async (body, type) => readFindings(body, type),
  }
  return async (projectId, job, type, call) => {
    if ((job.artifactSizes?.[type] ?? 0) > reportCaps.packed) {
      return { dropped: 0, fault: new ReportFault('too_large', `The report has more than ${reportCaps.packed} bytes.`) }
    }
    const read = await client.jobArtifact(projectId, job.id, { type }, call, async body =>
      readers[switchOf(type)](body, type),
    )
    if (read.fault?.reason === 'archive') throw archiveError(type)
    return read
  }
}

function archiveError(type: ReportType): PlatformError {
  return new PlatformError({
    kind: 'not-found',
    affectsAllRequests: true,
    what: `The platform answered with an archive instead of a report of type ${type}.`,
    remedy: 'It is too old to serve reports by type: remove this type from PIPESPAN_REPORTS.',
  })
}
