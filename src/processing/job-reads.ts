// Of which jobs the inside is read: those that failed, those that took unusually long, or all; of some projects. Pure.
//
// Whether a job took unusually long is known by what the job took before, which is looked up when its turn comes: until then every job
// that ran may be one, and an entry that proves needless costs no request.
import type { Chunk, JobSnapshot } from '../model/chunk.ts'
import { reportTypes, type ReportSwitch } from '../model/job-reports.ts'
import { archiveArtifact, testArtifact } from '../model/observation.ts'
import type { JobReadWish } from '../store/ports/job-reads.ts'

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

/** What is to be read about the jobs of a chunk; undefined where nothing ever is. */
export function jobReadsBy(rules: JobReadRules): ((chunk: Chunk) => readonly JobReadWish[]) | undefined {
  const choice = [...rules.sections, ...rules.lines]
  const artifacts = [
    ...(rules.tests ? [{ type: testArtifact, what: 'tests' } as const] : []),
    ...(rules.spans ? [{ type: archiveArtifact, what: 'spans' } as const] : []),
    ...rules.reports.flatMap(one => reportTypes[one].map(type => ({ type, what: type }))),
  ]
  if (choice.length === 0 && artifacts.length === 0) return undefined
  return ({ project, jobs }) => {
    if (!rules.project(project.path ?? '')) return []
    return jobs
      .filter(ran)
      .flatMap((job): JobReadWish[] => [
        ...(isChosen(choice, job, true) ? [{ jobId: job.id, what: 'log' } as const] : []),
        ...artifacts.filter(({ type }) => has(job, type)).map(({ what }) => ({ jobId: job.id, what })),
      ])
  }
}

export function isChosen(choice: JobChoice, { status }: Pick<JobSnapshot, 'status'>, isSlow: boolean): boolean {
  return (
    choice.includes('all') || (choice.includes('failed') && status === 'failed') || (choice.includes('slow') && isSlow)
  )
}

/** What the platform lists of the job's artifacts says so: nothing is asked for in vain. */
function has({ artifactSizes }: JobSnapshot, type: string): boolean {
  return artifactSizes !== undefined && Object.hasOwn(artifactSizes, type)
}

/** Bridges, and jobs that no runner ever had, have no log. */
function ran({ kind, startedAt, finishedAt }: JobSnapshot): boolean {
  return kind === 'job' && startedAt !== undefined && finishedAt !== undefined
}
