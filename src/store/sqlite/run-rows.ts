// Reads runs and their jobs within a transaction on SQLite.
import { number, type Row } from '../sql/columns.ts'
import { hasSnapshot, jobsOf, rememberedJobsOf } from '../sql/run-rows.ts'
import { selectRun } from '../sql/run-reads.ts'
import { storedChunk, storedOutline } from '../sql/stored-json.ts'
import type { Database } from './database.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { RememberedJob } from '../../model/tombstone.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork } from '../ports/runs.ts'

export function select(db: Database, key: RunKey): Row | undefined {
  return db.prepare(selectRun).get(key.instance, key.pipelineId)
}

const idOf = number('id')
const jobId = number('job_id')

/** `run`: its row. */
export function loadJobs(db: Database, recent: RecentChunks, run: Row, which: RunWork['jobs']): Map<number, Job> {
  const id = idOf(run)
  if (which === 'all') {
    return jobsOf(
      rowsOf(db, id),
      hasSnapshot(run) ? chunksOf(db, recent, id, 0, Number.MAX_SAFE_INTEGER, storedChunk) : [],
    )
  }
  const one = db.prepare('SELECT * FROM jobs WHERE run_id = ? AND job_id = ?')
  const rows = which.flatMap(job => {
    const row = one.get(id, job)
    return row === undefined ? [] : [row]
  })
  if (!hasSnapshot(run) || which.length === 0) return jobsOf(rows, [])
  const wanted = new Set(which)
  const chunks = chunksOf(db, recent, id, Math.min(...wanted), Math.max(...wanted), storedChunk)
  return jobsOf(rows, chunks, job => wanted.has(job))
}

/** What is remembered of all of a run's jobs when it is pruned. `run`: its row. */
export function loadRemembered(db: Database, recent: RecentChunks, run: Row): RememberedJob[] {
  const id = idOf(run)
  const chunks = hasSnapshot(run) ? chunksOf(db, recent, id, 0, Number.MAX_SAFE_INTEGER, storedOutline) : []
  return rememberedJobsOf(rowsOf(db, id), chunks)
}

/** Rows of jobs read at once: all rows of a large run would need as much memory as the jobs made of them. */
const jobsAtOnce = 2_000

function* rowsOf(db: Database, run: number): Generator<Row> {
  const next = db.prepare('SELECT * FROM jobs WHERE run_id = ? AND job_id > ? ORDER BY job_id LIMIT ?')
  for (let after = -1; ;) {
    const rows = next.all(run, after, jobsAtOnce)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < jobsAtOnce) return
    after = jobId(last)
  }
}

/** The chunks that are needed to restore jobs with ids from `first` to `last`. */
function chunksOf<T>(
  db: Database,
  recent: RecentChunks,
  run: number,
  first: number,
  last: number,
  read: (text: unknown) => T,
): (Chunk | T)[] {
  const ids = db
    .prepare('SELECT id FROM chunks WHERE run_id = ? AND first_job <= ? AND last_job >= ? ORDER BY id')
    .all(run, last, first)
    .map(idOf)
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  return ids.map(id => recent.recallOfRun(id) ?? read(content.get(id)?.content))
}
