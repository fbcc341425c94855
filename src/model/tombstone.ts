// Stores the tombstone of a pruned run. The tombstone suffices to distinguish new work from old if the run is observed again. Pure.
//
// A run is pruned only after everything observed about it has been exported. So all of its work counts as part of the last snapshot.
import { observedJob, type Job } from './job.ts'
import { newestSecondOf, versioned } from './versioned.ts'
import type { Attempt, Run } from './run.ts'
import type { JobFacts, JobTimes, RunKey } from './observation.ts'

export interface Tombstone {
  readonly key: RunKey
  readonly projectId: number
  /** The run's attempts, at least one. A run without a snapshot needs no tombstone. */
  readonly attempts: readonly Attempt[]
  readonly jobs: readonly RememberedJob[]
}

/** A job as it was last observed. A later observation of the job is new work only if the job has run since then. */
export interface RememberedJob extends Omit<JobTimes, 'createdAt'> {
  readonly id: number
  readonly kind: JobFacts['kind']
  readonly status: string
  /** The last attempt whose snapshot contains the job; 0 if none does. `spans`: how many spans the job has, or 0. */
  readonly attempt: number
  readonly spans: number
}

/** Creates the tombstone of a run; undefined if the run has no snapshot. */
export function remember({ key, project, pipeline, attempts, jobs }: Run): Tombstone | undefined {
  const last = attempts.at(-1)
  if (last === undefined) return undefined
  const newest = Math.max(last.newestSecond, pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version))
  const finish = Math.max(last.finish, pipeline?.times.finishedAt ?? 0)
  return {
    key,
    projectId: project.facts.id,
    attempts: [...attempts.slice(0, -1), { ...last, finish, newestSecond: newest }].map(
      ({ exported: _, ...one }) => one,
    ),
    jobs: [...jobs.values()].map(rememberedJob),
  }
}

function rememberedJob({ id, record: { facts }, times, snapshot }: Job): RememberedJob {
  const { attempt = 0, spans = 0 } = snapshot ?? {}
  const { startedAt, finishedAt } = times
  return { id, kind: facts.kind, status: facts.status, attempt, spans, startedAt, finishedAt }
}

/** Restores a run from its tombstone. The run has no pipeline, so nothing is exported until its pipeline is observed. */
export function revive({ key, projectId, attempts, jobs }: Tombstone): Run {
  return {
    key,
    project: versioned('', { id: projectId }),
    attempts,
    jobs: new Map(jobs.map(job => [job.id, reviveJob(job)])),
  }
}

function reviveJob({ id, kind, status, attempt, spans, startedAt, finishedAt }: RememberedJob): Job {
  const times = { startedAt, finishedAt }
  const job = observedJob({ id, facts: { kind, status }, times }, 'rest')
  return attempt === 0 ? job : { ...job, snapshot: { attempt, spans, status, ...times } }
}
