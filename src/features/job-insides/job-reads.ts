// Decides for which jobs logs and reports are read: failed jobs, slow jobs, or all jobs, in some projects or in all. Pure.
//
// Whether a job was slow is checked only when its queue entry is due. Until then, any job that ran may be slow. An entry for a job that was not slow
// costs no request.
import { archiveArtifact, testArtifact } from '../../model/observation.ts'
import { hasFailed } from '../../model/status.ts'
import { hasMoved, viewJob, type Job, type JobView } from '../../model/job.ts'
import { jobReadReporter, type JobReadable, type WantedRead } from './queue.ts'
import { projectChooser, type ChooseProject } from '../../lib/chooser.ts'
import { reportsBy, type LineStep } from '../../core/store/ports/reporter.ts'
import { reportTypes, type ReportSwitch } from '../../model/job-reports.ts'
import type { InsideOptions } from './options.ts'
import type { Surroundings } from '../../daemon/feature.ts'

/** Which jobs are read; no jobs if the list is empty. */
export type JobChoice = readonly ('failed' | 'slow' | 'all')[]

export interface JobReadRules {
  /** The jobs whose log sections become spans. */
  readonly sections: JobChoice
  /** The jobs whose log lines become log records. */
  readonly lines: JobChoice
  /** Whether the test report of every job that has one is read. */
  readonly tests: boolean
  /** The types of other reports that are read from every job that has one. */
  readonly reports: readonly ReportSwitch[]
  /** Whether a job's artifacts are searched for spans that the job created itself. */
  readonly spans: boolean
  /** Whether jobs of this project are read. The path is empty if it is not known. */
  readonly project: ChooseProject
}

export function jobReadRulesOf(
  { job, tests, reports }: InsideOptions,
  { platformOf }: Pick<Surroundings, 'platformOf'>,
): JobReadRules {
  const { sections, logs: lines, spans = [] } = job
  const project = projectChooser({ include: job.projects }, platformOf)
  return { sections, lines, tests, reports, spans: spans.length > 0, project }
}

/** Whether these rules can cause anything to be read about a job. */
export function readsInsides({ sections, lines, tests, reports, spans }: Omit<JobReadRules, 'project'>): boolean {
  return sections.length + lines.length + reports.length > 0 || tests || spans
}

export function jobReadStep(rules: JobReadRules): LineStep {
  if (!readsInsides(rules)) return {}
  return {
    needsArtifacts: true,
    onSnapshot: (chunk, { isSent }) => {
      const { key, project, attempt, number, jobs } = chunk
      if (!isSent || !rules.project(project.path ?? '', key.instance)) return []
      const reads = jobs.flatMap(job =>
        readableOf(job, rules).map((what): WantedRead => ({ key, attempt, number, jobId: job.id, what })),
      )
      return reportsBy(jobReadReporter, reads)
    },
    onObserved: (run, known) => {
      if (known === undefined || run.attempts.length === 0) return []
      const { key, project } = run
      if (!rules.project(project.facts.path ?? '', key.instance)) return []
      const reads: WantedRead[] = []
      for (const job of run.jobs.values()) {
        const before = known.jobs.get(job.id)
        if (before !== job && before?.snapshot !== undefined)
          reads.push(...lateReadsOf(before, job, rules).map(read => ({ ...read, key })))
      }
      return reportsBy(jobReadReporter, reads)
    },
  }
}

/**
 * Returns additional reads for a job that changed after its snapshot: its artifacts may first be listed by a response after the enrichment deadline,
 * or by a late webhook. A job that has run again in the meantime is left out, because it gets another snapshot.
 */
function lateReadsOf(before: Job, after: Job, rules: JobReadRules): Omit<WantedRead, 'key'>[] {
  const { id: jobId, snapshot: { attempt, chunk: number } = {} } = after
  if (attempt === undefined || number === undefined || hasMoved(after)) return []
  const known = readableOf(viewJob(before), rules)
  return readableOf(viewJob(after), rules).flatMap(what =>
    known.includes(what) ? [] : { attempt, number, jobId, what },
  )
}

/**
 * Returns the kinds of data that can be read about a job. Bridges, and jobs that never ran, have no log. A report is requested only if the platform
 * lists it.
 */
function readableOf(job: JobView, { sections, lines, tests, reports, spans }: JobReadRules): JobReadable[] {
  const { kind, startedAt, finishedAt, artifactSizes = {} } = job
  if (kind !== 'job' || startedAt === undefined || finishedAt === undefined) return []
  const has = (type: string): boolean => Object.hasOwn(artifactSizes, type)
  return [
    ...(isChosen([...sections, ...lines], job, true) ? ['log' as const] : []),
    ...(tests && has(testArtifact) ? ['tests' as const] : []),
    ...(spans && has(archiveArtifact) ? ['spans' as const] : []),
    ...reports.flatMap(one => reportTypes[one]).filter(has),
  ]
}

export function isChosen(choice: JobChoice, { status }: Pick<JobView, 'status'>, isSlow: boolean): boolean {
  return (
    choice.includes('all') || (choice.includes('failed') && hasFailed(status)) || (choice.includes('slow') && isSlow)
  )
}
