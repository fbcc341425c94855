// The jobs of active runs that wait for a runner or occupy one, read from the documents of these runs.
import { isPending, isRunning } from '../../../model/status.ts'
import { loadRuns } from './run-reads.ts'
import { number } from './columns.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { viewJob, type Job } from '../../../model/job.ts'
import type { ActiveJob } from '../../../model/totals.ts'
import type { Statements } from './statements.ts'
import type { StoredRun } from '../ports/runs.ts'

/** Runs whose jobs are read at a time: some milliseconds. */
const runsPerPage = 50
const selectActive = `
  SELECT id FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped') ORDER BY id`

export async function activeJobs(sql: Statements, take: (jobs: readonly ActiveJob[]) => void): Promise<void> {
  const ids = (await sql.all(selectActive)).map(number('id'))
  for (let at = 0; at < ids.length; at += runsPerPage) {
    // Other work goes on between two pages, as SQLite answers within the turn.
    await nextTurn()
    const runs = await loadRuns(sql.all, sql.damaged, ids.slice(at, at + runsPerPage))
    take([...runs.values()].flatMap(one => [...one.run.jobs.values()].flatMap(job => activeJob(one, job) ?? [])))
  }
}

/** Undefined if it is not active. */
function activeJob({ run, timing }: StoredRun, known: Job): ActiveJob | undefined {
  const job = viewJob(known)
  const isWaiting = isPending(job.status)
  if (job.kind === 'bridge' || (!isWaiting && !isRunning(job.status))) return undefined
  const waited = Math.max(0, job.queuedDuration ?? 0) * 1000
  return {
    key: { instance: run.key.instance, projectId: run.project.facts.id },
    project: run.project.facts,
    id: job.id,
    state: isWaiting ? 'pending' : 'running',
    workerType: job.runner?.type,
    tags: job.runner?.tags ?? job.tags,
    pendingSince: isWaiting ? Math.max(timing.changedAt - waited, job.createdAt ?? 0) : undefined,
  }
}
