// Giving up what is old, on SQLite: small transactions, and the pages they free back to the file system.
import { loadJobs } from './run-rows.ts'
import { pruneStatements } from '../sql/pruning.ts'
import { sqliteStatements } from './statements.ts'
import { prunedRun, storedRun } from '../sql/run-rows.ts'
import { remember } from '../../model/tombstone.ts'
import { writeMemory } from './tombstones.ts'
import type { Database, Row } from './database.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { TrendTaking } from './trend-taking.ts'
import type { Pruning, RunCursor, RunsPruned } from '../ports/pruning.ts'

/** Pages of one step, 16 KiB each (4 in files of the first versions): some milliseconds of writing. */
const pagesPerStep = 128

/** `fullness`: of the whole store, as a share of its limit. */
export function sqlitePruning(
  db: Database,
  recent: RecentChunks,
  trends: Pick<TrendTaking, 'writeAhead'>,
  fullness: () => number,
): Pruning {
  const sql = sqliteStatements(db)
  const shared = pruneStatements(sql)
  return {
    ...shared,
    runs: async (before, limit, from) => {
      trends.writeAhead()
      return db.transaction(() => pruneRuns(db, recent, before, limit, from))
    },
    keys: async (before, limit) =>
      (await shared.keys(before, limit)) +
      (await sql.change(
        'DELETE FROM recent_delivery_keys WHERE seq IN (SELECT seq FROM recent_delivery_keys WHERE seen_at < ?1 ORDER BY seq LIMIT ?2)',
        [before, limit],
      )),
    fullness: async () => fullness(),
    giveBack: async () => db.giveBack(pagesPerStep),
  }
}

function pruneRuns(
  db: Database,
  recent: RecentChunks,
  before: number,
  limit: number,
  from: RunCursor | undefined,
): RunsPruned {
  const now = db.now()
  const rows = db
    .prepare(
      `SELECT * FROM runs WHERE due_at IS NULL AND changed_at < ? AND (changed_at, id) > (?, ?)
       ORDER BY changed_at, id LIMIT ?`,
    )
    .all(before, from?.changedAt ?? -1, from?.id ?? -1, limit) as Row[]
  // Sent only lately: the pages still show it.
  const isBusy = db.prepare(
    `SELECT 1 FROM chunks p LEFT JOIN outbox e ON e.chunk_id = p.id
     WHERE p.run_id = ?1 AND (p.snapshot_at BETWEEN ?2 AND ?3 OR e.state IN ('pending', 'dead') OR e.settled_at BETWEEN ?2 AND ?3) LIMIT 1`,
  )
  let pruned = 0
  let remembered = 0
  for (const row of rows) {
    const id = row.id as number
    if (isBusy.get(id, before, now) !== undefined) continue
    const run = prunedRun(db.damaged, row, () => storedRun(row, loadJobs(db, recent, row, 'all')))
    if (run === undefined) continue
    const tombstone = remember(run)
    if (tombstone !== undefined) {
      writeMemory(db, tombstone, now)
      remembered += 1
    }
    db.prepare('DELETE FROM runs WHERE id = ?').run(id)
    pruned += 1
  }
  if (pruned > 0) db.prepare(takeInSql.moveBack).run()
  const last = rows.length < limit ? undefined : rows.at(-1)
  const next = last && { changedAt: last.changed_at as number, id: last.id as number }
  return { pruned, remembered, next }
}
