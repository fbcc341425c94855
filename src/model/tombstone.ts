// What is remembered of a run once it is pruned: enough that anything heard of it again tells new work from old. Pure.
//
// Only a run at rest is pruned: nothing that was heard of it is owed. So all of that counts as frozen.
import { observedJob, type Job } from './job.ts'
import { newestSecondOf, versioned } from './versioned.ts'
import type { Attempt, Run } from './run.ts'
import type { JobFacts, JobTimes, RunKey } from './observation.ts'

export interface Tombstone {
  readonly key: RunKey
  readonly projectId: number
  /** At least one: a run of which nothing was ever frozen needs no memory. */
  readonly attempts: readonly Attempt[]
  readonly jobs: readonly RememberedJob[]
}

/** As it was last heard of: older news of it proves nothing, only a later life does. */
export interface RememberedJob extends Omit<JobTimes, 'createdAt'> {
  readonly id: number
  readonly kind: JobFacts['kind']
  readonly status: string
  /** The last attempt it was frozen in, and how many spans of it were; both 0 when it never was. */
  readonly attempt: number
  readonly spans: number
}

/** Undefined when nothing of the run was frozen. */
export function remember({ key, project, pipeline, attempts, jobs }: Run): Tombstone | undefined {
  const last = attempts.at(-1)
  if (last === undefined) return undefined
  const horizon = Math.max(last.newestSecond, pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version))
  const finish = Math.max(last.finish, pipeline?.times.finishedAt ?? 0)
  return {
    key,
    projectId: project.facts.id,
    attempts: [...attempts.slice(0, -1), { ...last, finish, newestSecond: horizon }],
    jobs: [...jobs.values()].map(({ id, record: { facts }, times: { startedAt, finishedAt }, snapshot: frozen }) => {
      const { attempt = 0, spans = 0 } = frozen ?? {}
      return { id, kind: facts.kind, status: facts.status, attempt, spans, startedAt, finishedAt }
    }),
  }
}

/** The run as a tombstone knows it. It has no pipeline, so nothing is owed before one is heard. */
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
