// Reads a job's reports other than test reports, and counts their contents.
import { countIn, type InsideCounters } from './counts.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import { allReportTypes, type JobReport, type ReportedMetric, type ReportType } from '../../model/job-reports.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { ReadReport } from '../../platform/port/inside.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

export interface ReportReadingOptions {
  readonly counters: Pick<InsideCounters, 'reports' | 'series' | 'values' | 'findings'>
  readonly readReport: ReadReport
  readonly names: Repositories['reportedNames']
  /** Called if a report cannot be read, to log the problem. */
  readonly onFault: (what: string, facts: Readonly<Record<string, string | number>>) => void
}

/** The maximum number of metric names that one project may export from its reports. */
const maxReportedNames = 50

export function createReportReading({
  readReport,
  names,
  onFault,
  counters,
}: ReportReadingOptions): Readonly<Record<ReportType, JobReading>> {
  const readingOf =
    (type: ReportType): JobReading =>
    async ({ chunk }, job, call) => {
      const { id, path } = chunk.project
      const { report: found, dropped, fault } = await readReport(id, job, type, call)
      counters[type === 'dotenv' ? 'values' : 'series'].false += dropped
      const report = found && (await kept(found, chunk))
      const outcomes = counters.reports.get(type) ?? new Map<ReportFaultReason | 'none', number>()
      counters.reports.set(type, outcomes)
      countIn(outcomes, fault?.reason ?? 'none')
      if (fault !== undefined) onFault(fault.message, { type, job: job.id, project: path ?? id, reason: fault.reason })
      return { as: 'read', insides: report === undefined ? [] : [{ job: insideJobOf(job), report }] }
    }

  /** Returns the part of a report that is exported: everything except metrics whose names are beyond the limit. */
  async function kept(found: JobReport, { key, project }: Chunk): Promise<JobReport | undefined> {
    const { metrics, dotenv = {}, findings = [] } = found
    counters.values.true += Object.keys(dotenv).length
    counters.findings += findings.reduce((sum, { count }) => sum + count, 0)
    if (metrics === undefined) return found
    const known = await namesWithin(names, { instance: key.instance, project: project.id }, metrics)
    counters.series.true += known.length
    counters.series.false += metrics.length - known.length
    return known.length === 0 ? undefined : { metrics: known }
  }

  return Object.fromEntries(allReportTypes.map(type => [type, readingOf(type)])) as Record<ReportType, JobReading>
}

/**
 * Returns the metrics whose names are already known or still within the limit. Names are accepted in the order in which they are first reported.
 * Without a limit, a name that contains a commit hash would create a new metric in every pipeline, and totals are stored permanently.
 */
async function namesWithin(
  names: Repositories['reportedNames'],
  key: { readonly instance: string; readonly project: number },
  metrics: readonly ReportedMetric[],
): Promise<readonly ReportedMetric[]> {
  const wanted = new Set(metrics.map(({ name }) => name))
  const before = new Set((await names.get(key))?.names)
  const isNew = [...wanted].some(name => !before.has(name))
  if (!isNew || before.size >= maxReportedNames) return metrics.filter(({ name }) => before.has(name))
  const known = await names.change(key, document => {
    const all = [...new Set([...(document?.names ?? []), ...wanted])].slice(0, maxReportedNames)
    return { document: { ...key, names: all }, result: new Set(all) }
  })
  return metrics.filter(({ name }) => known.has(name))
}
