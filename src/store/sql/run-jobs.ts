// Loads the sources of jobs within a transaction: their rows, and the chunks from which they are restored.
import { each, forRows, type Steps } from './steps.ts'
import { hasSnapshot, jobsOf, rememberedJobsOf } from './run-rows.ts'
import { number, type Row } from './columns.ts'
import { storedChunk, storedOutline } from './stored-json.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { RememberedJob } from '../../model/tombstone.ts'
import type { RunWork } from '../ports/runs.ts'

/** A run's row, and the jobs to load. */
export interface Wanted {
  readonly run: Row
  readonly jobs: RunWork['jobs']
}

/** A chunk that is still in memory; undefined: it is read. */
export type Recall = (id: number) => Chunk | undefined

/** By a run's row. Both decode only then, and throw DataError if something is damaged. */
export interface LoadedJobs {
  readonly jobs: (run: Row) => Map<number, Job>
  /** Their part of the tombstone when the run is pruned; all jobs must have been requested. */
  readonly remembered: (run: Row) => RememberedJob[]
}

export function* loadJobs(wanted: readonly Wanted[], recall: Recall | undefined): Steps<LoadedJobs> {
  const whole = wanted.filter(({ jobs }) => jobs === 'all').map(({ run }) => [idOf(run)])
  const some = wanted.flatMap(({ run, jobs }) => (jobs === 'all' ? [] : jobs.map(job => [idOf(run), job])))
  const rowsOfAll = yield each(selectWhole, whole)
  const rowsOf = Map.groupBy([...rowsOfAll, ...(yield each(selectSome, some))], runId)
  const found = yield each(selectChunks, wanted.flatMap(rangeOf))
  const known = new Map(found.flatMap(row => [[idOf(row), recall?.(idOf(row))] as const]))
  const unread = [...known].flatMap(([id, chunk]) => (chunk === undefined ? [[id]] : []))
  const contents = new Map((yield each(selectContent, unread)).map(row => [idOf(row), row.content]))
  const chunksOf = Map.groupBy(
    found.toSorted((a, b) => idOf(a) - idOf(b)),
    runId,
  )
  const decoded = <T>(run: Row, read: (text: unknown) => T): (Chunk | T)[] =>
    (chunksOf.get(idOf(run)) ?? []).map(row => known.get(idOf(row)) ?? read(contents.get(idOf(row))))
  const idsOf = new Map(wanted.map(({ run, jobs }) => [idOf(run), jobs === 'all' ? undefined : new Set(jobs)]))
  return {
    jobs: run => {
      const ids = idsOf.get(idOf(run))
      return jobsOf(rowsOf.get(idOf(run)) ?? [], decoded(run, storedChunk), job => ids?.has(job) ?? true)
    },
    remembered: run => rememberedJobsOf(rowsOf.get(idOf(run)) ?? [], decoded(run, storedOutline)),
  }
}

/** The chunks that are needed: of the run, and with jobs from the first to the last id. */
function rangeOf({ run, jobs }: Wanted): number[][] {
  if (!hasSnapshot(run) || jobs.length === 0) return []
  if (jobs === 'all') return [[idOf(run), 0, Number.MAX_SAFE_INTEGER]]
  return [[idOf(run), Math.min(...jobs), Math.max(...jobs)]]
}

const selectSome = forRows(
  ['bigint', 'bigint'],
  ({ among }) => `SELECT * FROM jobs WHERE ${among('run_id', 'job_id')} ORDER BY run_id, job_id`,
)
const selectWhole = forRows(
  ['bigint'],
  ({ among }) => `SELECT * FROM jobs WHERE ${among('run_id')} ORDER BY run_id, job_id`,
)
const selectChunks = forRows(
  ['bigint', 'bigint', 'bigint'],
  ({ rows }) => `
  WITH w (run_id, first, last) AS (${rows})
  SELECT c.id, c.run_id FROM w JOIN chunks c ON c.run_id = w.run_id AND c.first_job <= w.last AND c.last_job >= w.first`,
)
const selectContent = forRows(['bigint'], ({ among }) => `SELECT id, content FROM chunks WHERE ${among('id')}`)
const idOf = number('id')
const runId = number('run_id')
