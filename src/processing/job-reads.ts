// Of which jobs the inside is read: those that failed, those that took unusually long, or all; of some projects. Pure.
//
// Whether a job took unusually long is known by what the job took before, which is looked up when its turn comes: until then every job
// that ran may be one, and an entry that proves needless costs no request.
import type { Chunk, JobSnapshot } from '../model/chunk.ts'
import type { JobReadWish } from '../store/ports/job-reads.ts'

/** Empty: none. */
export type JobChoice = readonly ('failed' | 'slow' | 'all')[]

export interface JobReadRules {
  /** Whose sections become spans. */
  readonly sections: JobChoice
  /** Whose lines become log records. */
  readonly lines: JobChoice
  /** Whether the inside of a project's jobs is read; one without a known path is asked about as ''. */
  readonly project: (path: string) => boolean
}

/** What is to be read about the jobs of a chunk; undefined where nothing ever is. */
export function jobReadsBy(rules: JobReadRules): ((chunk: Chunk) => readonly JobReadWish[]) | undefined {
  const choice = [...rules.sections, ...rules.lines]
  if (choice.length === 0) return undefined
  return ({ project, jobs }) => {
    if (!rules.project(project.path ?? '')) return []
    return jobs.filter(job => ran(job) && isChosen(choice, job, true)).map(({ id }) => ({ jobId: id, what: 'log' }))
  }
}

export function isChosen(choice: JobChoice, { status }: Pick<JobSnapshot, 'status'>, isSlow: boolean): boolean {
  return (
    choice.includes('all') || (choice.includes('failed') && status === 'failed') || (choice.includes('slow') && isSlow)
  )
}

/** Bridges, and jobs that no runner ever had, have no log. */
function ran({ kind, startedAt, finishedAt }: JobSnapshot): boolean {
  return kind === 'job' && startedAt !== undefined && finishedAt !== undefined
}
