// Runs and their jobs as they are read from SQLite.
import { hasSnapshot, jobsOf } from '../sql/run-rows.ts'
import { storedPart } from '../sql/stored-json.ts'
import type { Database, Row } from './database.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunWork } from '../ports/runs.ts'

export function select(db: Database, key: RunKey): Row | undefined {
  return db.prepare('SELECT * FROM runs WHERE instance = ? AND pipeline_id = ?').get(key.instance, key.pipelineId)
}

/** `run`: its row. */
export function loadJobs(db: Database, recent: RecentChunks, run: Row, which: RunWork['jobs']): Map<number, Job> {
  const id = run.id as number
  if (which === 'all') {
    return jobsOf(rowsOf(db, id), hasSnapshot(run) ? toldParts(db, recent, id, 0, Number.MAX_SAFE_INTEGER) : [])
  }
  const one = db.prepare('SELECT * FROM jobs WHERE run_id = ? AND job_id = ?')
  const rows = which.flatMap(job => {
    const row = one.get(id, job)
    return row === undefined ? [] : [row]
  })
  if (!hasSnapshot(run) || which.length === 0) return jobsOf(rows, [])
  const wanted = new Set(which)
  const parts = toldParts(db, recent, id, Math.min(...wanted), Math.max(...wanted))
  return jobsOf(rows, parts, job => wanted.has(job))
}

/** Rows read at once: of a large run all of them would take as much memory again as what is made of them. */
const rowsAtOnce = 2_000

function* rowsOf(db: Database, run: number): Generator<Row> {
  const next = db.prepare('SELECT * FROM jobs WHERE run_id = ? AND job_id > ? ORDER BY job_id LIMIT ?')
  for (let after = -1; ;) {
    const rows = next.all(run, after, rowsAtOnce)
    yield* rows
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)?.job_id as number
  }
}

/** The run's parts that tell of jobs with ids from `first` to `last`. */
function toldParts(db: Database, recent: RecentChunks, run: number, first: number, last: number): Chunk[] {
  const ids = db
    .prepare('SELECT id FROM chunks WHERE run_id = ? AND first_job <= ? AND last_job >= ? ORDER BY id')
    .all(run, last, first)
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  return ids.map(row => {
    const id = row.id as number
    return recent.recall(id)?.chunk ?? storedPart(content.get(id)?.content)
  })
}
