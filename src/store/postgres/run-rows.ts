// Reads many runs and their jobs within a transaction on PostgreSQL.
import { number, type Row } from '../sql/columns.ts'
import { hasSnapshot, jobsOf, rememberedJobsOf, storedRun } from '../sql/run-rows.ts'
import { storedChunk, storedOutline } from '../sql/stored-json.ts'
import type { Job } from '../../model/job.ts'
import type { RememberedJob } from '../../model/tombstone.ts'
import type { Session } from './database.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork, StoredRun } from '../ports/runs.ts'

export async function selectRuns(session: Session, keys: readonly RunKey[], tail = ''): Promise<Row[]> {
  return session.query(
    `SELECT r.* FROM runs r
     JOIN unnest($1::text[], $2::bigint[]) AS k (instance, pipeline_id)
       ON r.instance = k.instance AND r.pipeline_id = k.pipeline_id ${tail}`,
    [keys.map(key => key.instance), keys.map(key => key.pipelineId)],
  )
}

/** A run's row, and the jobs to load. */
interface Wanted {
  readonly run: Row
  readonly jobs: RunWork['jobs']
}

/** By the id of a run's row: decodes its jobs, in the order of their ids as on SQLite. Throws DataError if they are damaged. */
type LoadedJobs = ReadonlyMap<number, () => ReadonlyMap<number, Job>>

export async function loadJobs(session: Session, wanted: readonly Wanted[]): Promise<LoadedJobs> {
  const rowsOf = await readRows(session, wanted)
  const chunksOf = await readChunks(session, wanted)
  return new Map(
    wanted.map(({ run, jobs }) => {
      const id = idOf(run)
      const ids = jobs === 'all' ? undefined : new Set(jobs)
      const read = (): ReadonlyMap<number, Job> => {
        const chunks = (chunksOf.get(id) ?? []).map(({ content }) => storedChunk(content))
        return jobsOf(rowsOf.get(id) ?? [], chunks, job => ids === undefined || ids.has(job))
      }
      return [id, read]
    }),
  )
}

/** What is remembered of the jobs of runs that are pruned, by the row of the run. The answer throws DataError if they are damaged. */
export async function loadRemembered(
  session: Session,
  runs: readonly Row[],
): Promise<(run: Row) => readonly RememberedJob[]> {
  const wanted = runs.map((run): Wanted => ({ run, jobs: 'all' }))
  const rowsOf = await readRows(session, wanted)
  const chunksOf = await readChunks(session, wanted)
  return run => {
    const chunks = (chunksOf.get(idOf(run)) ?? []).map(({ content }) => storedOutline(content))
    return rememberedJobsOf(rowsOf.get(idOf(run)) ?? [], chunks)
  }
}

/** Rows of jobs, by the id of their run's row. */
async function readRows(session: Session, wanted: readonly Wanted[]): Promise<Map<number, Row[]>> {
  const whole = wanted.filter(({ jobs }) => jobs === 'all').map(({ run }) => idOf(run))
  const some = wanted.flatMap(({ run, jobs }) => (jobs === 'all' ? [] : jobs.map(job => [idOf(run), job] as const)))
  const rows = await session.query(
    `SELECT * FROM jobs WHERE run_id = ANY ($1::bigint[])
     UNION ALL
     SELECT j.* FROM jobs j JOIN unnest($2::bigint[], $3::bigint[]) AS w (run_id, job_id)
       ON j.run_id = w.run_id AND j.job_id = w.job_id
     ORDER BY run_id, job_id`,
    [whole, some.map(([run]) => run), some.map(([, job]) => job)],
  )
  return Map.groupBy(rows, runId)
}

/** The chunks that are needed to restore the jobs. */
async function readChunks(session: Session, wanted: readonly Wanted[]): Promise<Map<number, Row[]>> {
  const ranges = wanted
    .filter(({ run, jobs }) => hasSnapshot(run) && (jobs === 'all' || jobs.length > 0))
    .map(({ run, jobs }) => {
      const [first, last] = jobs === 'all' ? [0, Number.MAX_SAFE_INTEGER] : [Math.min(...jobs), Math.max(...jobs)]
      return { run: idOf(run), first, last }
    })
  if (ranges.length === 0) return new Map()
  const rows = await session.query(
    `SELECT c.run_id, c.content FROM chunks c JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (run_id, first, last)
       ON c.run_id = w.run_id AND c.first_job <= w.last AND c.last_job >= w.first
     ORDER BY c.id`,
    [ranges.map(({ run }) => run), ranges.map(({ first }) => first), ranges.map(({ last }) => last)],
  )
  return Map.groupBy(rows, runId)
}

export const idOf = number('id')
export const runId = number('run_id')

export function nameOf(key: RunKey): string {
  return `${key.instance}\n${key.pipelineId}`
}

/** Throws DataError if the row or its jobs are damaged. */
export function runOf(row: Row, jobs: LoadedJobs): StoredRun {
  return storedRun(row, jobs.get(idOf(row))?.() ?? new Map<number, Job>())
}
