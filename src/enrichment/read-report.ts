// Reads a job's reports other than tests, with one request each. Only numbers are exported, and of dotenv reports the values of allowed keys.
import { namesWithin } from './reported-names.ts'
import { insideJobOf } from '../model/inside-chunks.ts'
import { PlatformError } from '../platform/port.ts'
import type { RestClient } from '../platform/rest/client.ts'
import { readCoverage } from '../platform/reports/coverage.ts'
import { readDotenv } from '../platform/reports/dotenv.ts'
import { readFindings } from '../platform/reports/findings.ts'
import { readMetrics } from '../platform/reports/open-metrics.ts'
import { reportCaps } from '../platform/reports/caps.ts'
import { ReportFault } from '../platform/reports/report-fault.ts'
import { allReportTypes, switchOf, type JobReport, type ReportType } from '../model/job-reports.ts'
import { redactedValue, type RedactText } from '../platform/text-redaction.ts'
import type { Chunk } from '../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { ReportFaultReason } from '../model/test-report.ts'
import type { Repositories } from '../store/ports/repository.ts'

export interface ReportReadingOptions {
  readonly client: Pick<RestClient, 'jobArtifact'>
  readonly names: Repositories['reportedNames']
  /** Whether this key of a dotenv report may be exported. */
  readonly isAllowed: (key: string) => boolean
  readonly redactText: RedactText
  /** Called with what cannot be read, for the log. */
  readonly onFault: (what: string, facts: Readonly<Record<string, string | number>>) => void
}

/** Counted since start. */
export interface ReportCounters {
  /** Reports by their type and by why they could not be read to their end; `none` for whole ones. */
  readonly reports: Map<ReportType, Map<ReportFaultReason | 'none', number>>
  series: number
  /** Not a number, or beyond the limit. */
  seriesDropped: number
  values: number
  /** Values of allowed keys beyond the limit. */
  valuesDropped: number
  findings: number
}

export interface ReportReading {
  readonly readings: Readonly<Record<ReportType, JobReading>>
  readonly counters: Readonly<ReportCounters>
}

/** What is exported of a report, and why that is not all of it. */
interface Found {
  readonly report?: JobReport | undefined
  readonly fault?: ReportFault | undefined
}

type Bytes = AsyncIterable<Uint8Array>

export function createReportReading(options: ReportReadingOptions): ReportReading {
  const { client, names, isAllowed, redactText, onFault } = options
  const counters: ReportCounters = {
    ...{ reports: new Map(), series: 0, seriesDropped: 0, values: 0, valuesDropped: 0, findings: 0 },
  }

  const readers: Record<
    ReturnType<typeof switchOf>,
    (body: Bytes, type: ReportType, chunk: Chunk) => Promise<Found>
  > = {
    metrics: async (body, _, { key, project }) => {
      const { metrics, dropped, fault } = await readMetrics(body, redactText)
      const kept = await namesWithin(names, { instance: key.instance, project: project.id }, metrics)
      counters.series += kept.length
      counters.seriesDropped += dropped + metrics.length - kept.length
      return { report: kept.length === 0 ? undefined : { metrics: kept }, fault }
    },
    dotenv: async body => {
      const { values, dropped, fault } = await readDotenv(body, isAllowed)
      counters.values += Object.keys(values).length
      counters.valuesDropped += dropped
      const clean: Record<string, string> = {}
      for (const [key, value] of Object.entries(values)) {
        if (redactText(key) === key) clean[key] = redactedValue(key, value, redactText)
      }
      return { report: Object.keys(clean).length === 0 ? undefined : { dotenv: clean }, fault }
    },
    coverage: async body => {
      const { coverage, fault } = await readCoverage(body)
      const isKnown = coverage?.lines !== undefined || coverage?.branches !== undefined
      return { report: isKnown ? { coverage } : undefined, fault }
    },
    findings: async (body, type) => {
      const { findings = [], fault } = await readFindings(body, type)
      counters.findings += findings.reduce((sum, { count }) => sum + count, 0)
      return { report: findings.length === 0 ? undefined : { findings }, fault }
    },
  }

  const readingOf =
    (type: ReportType): JobReading =>
    async ({ chunk }, job, call) => {
      const { report, fault }: Found = await (isTooLarge(job.artifactSizes?.[type])
        ? { fault: new ReportFault('too_large', `The report has more than ${reportCaps.packed} bytes.`) }
        : client.jobArtifact(chunk.project.id, job.id, type, call, async body =>
            readers[switchOf(type)](body, type, chunk),
          ))
      if (fault?.reason === 'archive') throw archiveError(type)
      count(type, fault?.reason ?? 'none')
      if (fault !== undefined) {
        const { id, path } = chunk.project
        onFault(fault.message, { type, job: job.id, project: path ?? id, reason: fault.reason })
      }
      return { as: 'read', insides: report === undefined ? [] : [{ job: insideJobOf(job), report }] }
    }

  function count(type: ReportType, reason: ReportFaultReason | 'none'): void {
    const byReason = counters.reports.get(type) ?? new Map<ReportFaultReason | 'none', number>()
    counters.reports.set(type, byReason.set(reason, (byReason.get(reason) ?? 0) + 1))
  }

  const readings = Object.fromEntries(allReportTypes.map(type => [type, readingOf(type)]))
  return { readings: readings as Record<ReportType, JobReading>, counters }
}

function isTooLarge(size = 0): boolean {
  return size > reportCaps.packed
}

function archiveError(type: ReportType): PlatformError {
  return new PlatformError({
    kind: 'not-found',
    isOfTheApi: true,
    what: `The platform answered with an archive instead of a report of type ${type}.`,
    remedy: 'It is too old to serve reports by type: remove them from PIPESPAN_REPORTS.',
  })
}
