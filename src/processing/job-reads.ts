// Of which jobs the inside is read: those that failed, those that took unusually long, or all; of some projects. Pure.
//
// Whether a job took unusually long is known by what the job took before, which is looked up when its turn comes: until then every job
// that ran may be one, and an entry that proves needless costs no request.
import type { Chunk } from '../model/chunk.ts'
import { reportTypes, type ReportSwitch } from '../model/job-reports.ts'
import { hasMoved, viewJob, type Job, type JobView } from '../model/job.ts'
import { archiveArtifact, testArtifact } from '../model/observation.ts'
import type { JobReadWish, LateJobRead } from '../store/ports/job-reads.ts'

/** Empty: none. */
export type JobChoice = readonly ('failed' | 'slow' | 'all')[]

export interface JobReadRules {
  /** Whose sections become spans. */
  readonly sections: JobChoice
  /** Whose lines become log records. */
  readonly lines: JobChoice
  /** Whether reports of tests are read, of every job that has one. */
  readonly tests: boolean
  /** Which of its other reports are read, likewise. */
  readonly reports: readonly ReportSwitch[]
  /** Whether spans that a job made itself are looked for among its artifacts. */
  readonly spans: boolean
  /** Whether the inside of a project's jobs is read; one without a known path is asked about as ''. */
  readonly project: (path: string) => boolean
}

/** What is to be read about the jobs of a chunk that is about to be written. */
export type JobReadsOfChunk = (chunk: Chunk) => readonly JobReadWish[]

/** What is to be read about a job after all, now that more is known of it than when its snapshot was taken. `path`: its project's. */
export type LateJobReads = (before: Job, after: Job, path: string | undefined) => readonly LateJobRead[]

/** Undefined where nothing ever is to be read. */
export function jobReadsBy(rules: JobReadRules): JobReadsOfChunk | undefined {
  const wishesOf = wishesBy(rules)
  return (
    wishesOf && (({ project, jobs }) => (rules.project(project.path ?? '') ? jobs.flatMap(job => wishesOf(job)) : []))
  )
}

/**
 * A platform that answers after the enrichment deadline, or a webhook that comes late, may be the first to say what a job has left. A job that ran
 * again since is not meant: it gets a snapshot of its own. Undefined where nothing ever is to be read.
 */
export function lateJobReadsBy(rules: JobReadRules): LateJobReads | undefined {
  const wishesOf = wishesBy(rules)
  if (wishesOf === undefined) return undefined
  return (before, after, path) => {
    const { snapshot } = after
    if (snapshot === undefined || hasMoved(after) || !rules.project(path ?? '')) return []
    const wishes = wishesOf(viewJob(after))
    const known = new Set(wishes.length === 0 ? [] : wishesOf(viewJob(before)).map(({ what }) => what))
    return wishes.filter(({ what }) => !known.has(what)).map(wish => ({ ...wish, attempt: snapshot.attempt }))
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
    choice.includes('all') || (choice.includes('failed') && status === 'failed') || (choice.includes('slow') && isSlow)
  )
}

/** What the platform lists of the job's artifacts says so: nothing is asked for in vain. */
function has({ artifactSizes }: JobView, type: string): boolean {
  return artifactSizes !== undefined && Object.hasOwn(artifactSizes, type)
}

/** Bridges, and jobs that no runner ever had, have no log. */
function ran({ kind, startedAt, finishedAt }: JobView): boolean {
  return kind === 'job' && startedAt !== undefined && finishedAt !== undefined
}
