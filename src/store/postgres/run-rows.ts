// Runs and their jobs as they are read from PostgreSQL, many at a time.
import { hasSnapshot, jobsOf, storedRun } from '../sql/run-rows.ts'
import { storedPart } from '../sql/stored-json.ts'
import type { Job } from '../../model/job.ts'
import type { Row, Session } from './database.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork, StoredRun } from '../ports/runs.ts'

export async function selectRuns(session: Session, keys: readonly RunKey[], tail: string): Promise<Row[]> {
  return session.query(
    `SELECT r.* FROM runs r
     JOIN unnest($1::text[], $2::bigint[]) AS k (instance, pipeline_id)
       ON r.instance = k.instance AND r.pipeline_id = k.pipeline_id ${tail}`,
    [keys.map(key => key.instance), keys.map(key => key.pipelineId)],
  )
}

/** A run's row, and which of its jobs are wanted. */
export interface Wanted {
  readonly run: Row
  readonly jobs: RunWork['jobs']
}

/** By the number of a run's row: reads its jobs from what was loaded. Throws DataError where that is damaged. */
export type LoadedJobs = ReadonlyMap<number, () => ReadonlyMap<number, Job>>

export async function loadJobs(session: Session, wanted: readonly Wanted[]): Promise<LoadedJobs> {
  const whole = wanted.filter(({ jobs }) => jobs === 'all').map(idOf)
  const some = wanted.flatMap(one => (one.jobs === 'all' ? [] : one.jobs.map(job => [idOf(one), job] as const)))
  const rows = await session.query(
    `SELECT * FROM jobs WHERE run_id = ANY ($1::bigint[])
     UNION ALL
     SELECT j.* FROM jobs j JOIN unnest($2::bigint[], $3::bigint[]) AS w (run_id, job_id)
       ON j.run_id = w.run_id AND j.job_id = w.job_id`,
    [whole, some.map(([run]) => run), some.map(([, job]) => job)],
  )
  const rowsOf = Map.groupBy(rows, row => row.run_id as number)
  const partsOf = await toldParts(session, wanted)
  return new Map(
    wanted.map(one => {
      const id = idOf(one)
      const ids = one.jobs === 'all' ? undefined : new Set(one.jobs)
      const read = (): ReadonlyMap<number, Job> => {
        const parts = (partsOf.get(id) ?? []).map(({ content }) => storedPart(content))
        return jobsOf(rowsOf.get(id) ?? [], parts, job => ids === undefined || ids.has(job))
      }
      return [id, read]
    }),
  )
}

/** What parts alone tell of the wanted jobs. */
async function toldParts(session: Session, wanted: readonly Wanted[]): Promise<Map<number, Row[]>> {
  const ranges = wanted
    .filter(({ run, jobs }) => hasSnapshot(run) && (jobs === 'all' || jobs.length > 0))
    .map(one => {
      const { jobs } = one
      const [first, last] = jobs === 'all' ? [0, Number.MAX_SAFE_INTEGER] : [Math.min(...jobs), Math.max(...jobs)]
      return { run: idOf(one), first, last }
    })
  if (ranges.length === 0) return new Map()
  const rows = await session.query(
    `SELECT p.run_id, p.content FROM chunks p JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (run_id, first, last)
       ON p.run_id = w.run_id AND p.first_job <= w.last AND p.last_job >= w.first
     ORDER BY p.id`,
    [ranges.map(({ run }) => run), ranges.map(({ first }) => first), ranges.map(({ last }) => last)],
  )
  return Map.groupBy(rows, row => row.run_id as number)
}

function idOf({ run }: Wanted): number {
  return run.id as number
}

export function nameOf(key: RunKey): string {
  return `${key.instance}\n${key.pipelineId}`
}

/** The run of that row, with the jobs that were loaded of it. Throws DataError where either is damaged. */
export function runOf(row: Row, jobs: LoadedJobs): StoredRun {
  return storedRun(row, jobs.get(row.id as number)?.() ?? new Map<number, Job>())
}
