// Rows of runs and their jobs as the model has them, on SQLite.
import type { Database, Row } from './database.ts'
import type { Job } from '../../model/job.ts'
import type { Run, RunHead } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork, StoredRun } from '../runs.ts'

export function select(db: Database, key: RunKey): Row | undefined {
  return db.prepare('SELECT * FROM runs WHERE instance = ? AND pipeline_id = ?').get(key.instance, key.pipelineId)
}

export function loadJobs(db: Database, runId: number, which: RunWork['jobs']): Map<number, Job> {
  const rows =
    which === 'all'
      ? (db.prepare('SELECT * FROM jobs WHERE run_id = ?').all(runId) as Row[])
      : which.flatMap(id => {
          const row = db.prepare('SELECT * FROM jobs WHERE run_id = ? AND job_id = ?').get(runId, id) as Row | undefined
          return row === undefined ? [] : [row]
        })
  return new Map(rows.map(row => [row.job_id as number, jobOf(row)]))
}

function jobOf(row: Row): Job {
  const frozen = row.frozen
  return {
    id: row.job_id as number,
    record: JSON.parse(row.record as string) as Job['record'],
    times: JSON.parse(row.times as string) as Job['times'],
    ...(frozen == null ? {} : { frozen: JSON.parse(frozen as string) as NonNullable<Job['frozen']> }),
  }
}

export function headOf(key: RunKey, row: Row): RunHead {
  const pipeline = row.pipeline
  return {
    key,
    project: JSON.parse(row.project as string) as RunHead['project'],
    ...(pipeline == null ? {} : { pipeline: JSON.parse(pipeline as string) as NonNullable<RunHead['pipeline']> }),
    attempts: JSON.parse(row.attempts as string) as RunHead['attempts'],
  }
}

export function storedRun(key: RunKey, row: Row, jobs: ReadonlyMap<number, Job>): StoredRun {
  const run: Run = { ...headOf(key, row), jobs }
  return {
    run,
    timing: {
      changedAt: row.changed_at as number,
      endedAt: (row.ended_at ?? undefined) as number | undefined,
      enrichingUntil: (row.enriching_until ?? undefined) as number | undefined,
      dueAt: (row.due_at ?? undefined) as number | undefined,
    },
    heardFrom: JSON.parse(row.heard_from as string) as StoredRun['heardFrom'],
  }
}
