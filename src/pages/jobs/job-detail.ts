// Everything about one job, for its page and the JSON API: facts, cost, sections, tests, usual duration, recent runs, exported spans.
import { aboutOf } from './job-facts.ts'
import { historyOf, type JobHistory } from './job-history.ts'
import { runCard, type JobCard, type RunCard } from '../pipelines/run-card.ts'
import { sectionsOf, type JobSections } from './job-sections.ts'
import { reportOf, type JobReport } from './job-tests.ts'
import type { Usual } from '../pipelines/usual.ts'
import type { ExportedSpan, PagesParts, PagesSettings } from '../ports.ts'
import type { JobAbout } from './job-facts.ts'

export interface JobDetail {
  /** Without its jobs. */
  readonly pipeline: Omit<RunCard, 'jobs' | 'failures'>
  readonly job: JobCard
  readonly about: JobAbout
  /** Undefined if its log was not read. */
  readonly sections?: JobSections | undefined
  /** Undefined if no report was read. */
  readonly tests?: JobReport | undefined
  /** Undefined if none of its runs has been counted. */
  readonly usual?: Usual | undefined
  readonly history: JobHistory
  /** Its spans that were exported or are pending. */
  readonly spans: readonly ExportedSpan[]
}

export interface AskedJob {
  readonly projectId: number
  readonly pipelineId: number
  readonly jobId: number
  readonly instance?: string | undefined
}

/** Chunks that are read: a job has one with sections for each of its runs, and one or a few with tests. */
const mostReadings = 20

/** Undefined if there is no such job. */
export async function jobDetail(
  parts: PagesParts,
  settings: Pick<PagesSettings, 'costUnit'>,
  asked: AskedJob,
): Promise<JobDetail | undefined> {
  const { jobId } = asked
  const stored = await parts.views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const card = runCard(stored)
  const job = card.jobs.find(({ id }) => id === jobId)
  const known = stored.run.jobs.get(jobId)
  if (job === undefined || known === undefined) return undefined
  const { key } = stored.run
  const [chunks, insides, reports, usuals, history] = await Promise.all([
    parts.views.chunks(key),
    parts.views.sections(key, mostReadings, jobId),
    parts.views.tests(key, mostReadings, jobId),
    parts.usuals.of(card, [job.name]),
    historyOf(parts, card, job),
  ])
  const itsOwn = chunks.filter(({ jobs }) => jobs.some(({ id }) => id === jobId))
  const { jobs: _, failures: __, ...pipeline } = card
  return {
    ...{ pipeline, job, history },
    usual: usuals.get(job.name),
    about: aboutOf(
      { known, snapshots: itsOwn.flatMap(({ jobs }) => jobs.filter(({ id }) => id === jobId)) },
      parts,
      settings,
    ),
    sections: sectionsOf(insides, jobId),
    tests: reportOf(reports),
    spans: parts.exported(itsOwn).filter(span => span.jobId === jobId),
  }
}
