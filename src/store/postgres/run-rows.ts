// Rows of runs and their jobs as the model has them, on PostgreSQL.
import type { Job } from '../../model/job.ts'
import type { Row, Session } from './database.ts'
import type { RunHead } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork, StoredRun } from '../runs.ts'

export async function selectRuns(session: Session, keys: readonly RunKey[], tail: string): Promise<Row[]> {
  return session.query(
    `SELECT r.* FROM runs r
     JOIN unnest($1::text[], $2::bigint[]) AS k (instance, pipeline_id)
       ON r.instance = k.instance AND r.pipeline_id = k.pipeline_id ${tail}`,
    [keys.map(key => key.instance), keys.map(key => key.pipelineId)],
  )
}

export async function loadJobs(
  session: Session,
  wanted: readonly { id: number; jobs: RunWork['jobs'] }[],
): Promise<Map<number, Map<number, Job>>> {
  const whole = wanted.filter(one => one.jobs === 'all').map(one => one.id)
  const some = wanted.flatMap(({ id, jobs }) => (jobs === 'all' ? [] : jobs.map(job => [id, job] as const)))
  const rows = await session.query(
    `SELECT * FROM jobs WHERE run_id = ANY ($1::bigint[])
     UNION ALL
     SELECT j.* FROM jobs j JOIN unnest($2::bigint[], $3::bigint[]) AS w (run_id, job_id)
       ON j.run_id = w.run_id AND j.job_id = w.job_id`,
    [whole, some.map(([run]) => run), some.map(([, job]) => job)],
  )
  const found = new Map<number, Map<number, Job>>(wanted.map(({ id }) => [id, new Map()]))
  for (const row of rows) found.get(row.run_id as number)?.set(row.job_id as number, jobOf(row))
  return found
}

export function keyOf(row: Row): RunKey {
  return { instance: row.instance as string, pipelineId: row.pipeline_id as number }
}

export function nameOf(key: RunKey): string {
  return `${key.instance}\n${key.pipelineId}`
}

function jobOf(row: Row): Job {
  return {
    id: row.job_id as number,
    record: JSON.parse(row.record as string) as Job['record'],
    times: JSON.parse(row.times as string) as Job['times'],
    ...(row.frozen == null ? {} : { frozen: JSON.parse(row.frozen as string) as NonNullable<Job['frozen']> }),
  }
}

export function headOf(row: Row): RunHead {
  return {
    key: keyOf(row),
    project: JSON.parse(row.project as string) as RunHead['project'],
    ...(row.pipeline == null
      ? {}
      : { pipeline: JSON.parse(row.pipeline as string) as NonNullable<RunHead['pipeline']> }),
    attempts: JSON.parse(row.attempts as string) as RunHead['attempts'],
  }
}

export function storedRun(row: Row, jobs: ReadonlyMap<number, ReadonlyMap<number, Job>>): StoredRun {
  return {
    run: { ...headOf(row), jobs: jobs.get(row.id as number) ?? new Map<number, Job>() },
    timing: {
      changedAt: row.changed_at as number,
      endedAt: (row.ended_at ?? undefined) as number | undefined,
      enrichingUntil: (row.enriching_until ?? undefined) as number | undefined,
      dueAt: (row.due_at ?? undefined) as number | undefined,
    },
    heardFrom: JSON.parse(row.heard_from as string) as StoredRun['heardFrom'],
  }
}
