// Reads a job's reports of all types but tests, with one request for each.
import { readCoverage } from './coverage.ts'
import { readDotenv } from './dotenv.ts'
import { readFindings } from './findings.ts'
import { readMetrics } from './open-metrics.ts'
import { reportCaps } from './caps.ts'
import { ReportFault } from './report-fault.ts'
import { PlatformError } from '../port.ts'
import { switchOf, type ReportSwitch, type ReportType } from '../../model/job-reports.ts'
import { redactedValue, type RedactText } from '../text-redaction.ts'
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
    metrics: async body => {
      const { metrics, dropped, fault } = await readMetrics(body, redactText)
      return { report: metrics.length === 0 ? undefined : { metrics }, dropped, fault }
    },
    dotenv: async body => {
      const { values, dropped, fault } = await readDotenv(body, isAllowed)
      const clean = Object.entries(values).flatMap(([key, value]) =>
        redactText(key) === key ? [[key, redactedValue(key, value, redactText)] as const] : [],
      )
      return { report: clean.length === 0 ? undefined : { dotenv: Object.fromEntries(clean) }, dropped, fault }
    },
    coverage: async body => {
      const { coverage, fault } = await readCoverage(body)
      const isKnown = coverage?.lines !== undefined || coverage?.branches !== undefined
      return { report: isKnown ? { coverage } : undefined, dropped: 0, fault }
    },
    findings: async (body, type) => {
      const { findings = [], fault } = await readFindings(body, type)
      return { report: findings.length === 0 ? undefined : { findings }, dropped: 0, fault }
    },
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
