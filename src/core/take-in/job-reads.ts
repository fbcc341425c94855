// Decides which jobs' logs and reports are read: of jobs that failed, that were slow, or of all; in some projects or in all. Pure.
//
// Whether a job was slow is only looked up when its entry in the queue is due. Until then every job that ran may be slow; an entry that proves
// needless costs no request.
import type { ChooseProject } from '../../lib/chooser.ts'
import { hasFailed } from '../../model/status.ts'
import type { Chunk } from '../../model/chunk.ts'
import { reportTypes, type ReportSwitch } from '../../model/job-reports.ts'
import { hasMoved, viewJob, type Job, type JobView } from '../../model/job.ts'
import { archiveArtifact, testArtifact } from '../../model/observation.ts'
import type { JobReadWish, LateJobRead } from '../store/ports/job-reads.ts'

/** Empty: none. */
export type JobChoice = readonly ('failed' | 'slow' | 'all')[]

export interface JobReadRules {
  /** Jobs whose sections become spans. */
  readonly sections: JobChoice
  /** Jobs whose lines become log records. */
  readonly lines: JobChoice
  /** Whether reports of tests are read, of every job that has one. */
  readonly tests: boolean
  /** Which other reports are read, of every job that has one. */
  readonly reports: readonly ReportSwitch[]
  /** Whether a job's artifacts are searched for spans that it made itself. */
  readonly spans: boolean
  /** Whether jobs of this project are read; the path is '' if it is not known. */
  readonly project: ChooseProject
}

/** What to read about the jobs of a new chunk. */
export type JobReadsOfChunk = (chunk: Chunk) => readonly JobReadWish[]

/** Further reads about a job that changed after its snapshot. `path`: of its project. */
export type LateJobReads = (
  before: Job,
  after: Job,
  path: string | undefined,
  instance: string,
) => readonly LateJobRead[]

/** Undefined if nothing is ever read. */
export function jobReadsBy(rules: JobReadRules): JobReadsOfChunk | undefined {
  const wishesOf = wishesBy(rules)
  return (
    wishesOf &&
    (({ key, project, jobs }) =>
      rules.project(project.path ?? '', key.instance) ? jobs.flatMap(job => wishesOf(job)) : [])
  )
}

/**
 * The first to list a job's artifacts may be an answer after the enrichment deadline, or a late webhook. A job that ran again since then is left out,
 * as it gets another snapshot. Undefined if nothing is ever read.
 */
export function lateJobReadsBy(rules: JobReadRules): LateJobReads | undefined {
  const wishesOf = wishesBy(rules)
  if (wishesOf === undefined) return undefined
  return (before, after, path, instance) => {
    const { snapshot } = after
    if (snapshot?.chunk === undefined || hasMoved(after) || !rules.project(path ?? '', instance)) return []
    const wishes = wishesOf(viewJob(after))
    const known = new Set(wishes.length === 0 ? [] : wishesOf(viewJob(before)).map(({ what }) => what))
    const { attempt, chunk } = snapshot
    return wishes.filter(({ what }) => !known.has(what)).map(wish => ({ ...wish, attempt, number: chunk }))
  }
}

function wishesBy(rules: JobReadRules): ((job: JobView) => readonly JobReadWish[]) | undefined {
  const choice = [...rules.sections, ...rules.lines]
  const artifacts = [
    ...(rules.tests ? [{ type: testArtifact, what: 'tests' } as const] : []),
    ...(rules.spans ? [{ type: archiveArtifact, what: 'spans' } as const] : []),
    ...rules.reports.flatMap(one => reportTypes[one].map(type => ({ type, what: type }))),
  ]
  if (choice.length === 0 && artifacts.length === 0) return undefined
  return job => {
    if (!ran(job)) return []
    return [
      ...(isChosen(choice, job, true) ? [{ jobId: job.id, what: 'log' } as const] : []),
      ...artifacts.filter(({ type }) => has(job, type)).map(({ what }) => ({ jobId: job.id, what })),
    ]
  }
}

export function isChosen(choice: JobChoice, { status }: Pick<JobView, 'status'>, isSlow: boolean): boolean {
  return (
    choice.includes('all') || (choice.includes('failed') && hasFailed(status)) || (choice.includes('slow') && isSlow)
  )
}

/** True if the platform lists such an artifact of the job, so that no request is made in vain. */
function has({ artifactSizes }: JobView, type: string): boolean {
  return artifactSizes !== undefined && Object.hasOwn(artifactSizes, type)
}

/** Bridges, and jobs that never ran, have no log. */
function ran({ kind, startedAt, finishedAt }: JobView): boolean {
  return kind === 'job' && startedAt !== undefined && finishedAt !== undefined
}
