// Pruning on SQLite: small transactions, and free pages returned to the file system.
import { pruneEvents, pruneRuns, pruneStatements } from '../sql/pruning.ts'
import { number, optional } from '../sql/columns.ts'
import { execute, sqliteStatements, withinOf } from './statements.ts'
import type { Database } from './database.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { TrendTaking } from './trend-taking.ts'
import type { Pruning } from '../ports/pruning.ts'

/** By the reason for which it is pruned. */
const selectNewest = `
  SELECT coalesce(r.changed_at, e.taken_at) AS changed_at FROM chunks c
  LEFT JOIN runs r ON r.id = c.run_id LEFT JOIN events e ON e.chunk_id = c.id ORDER BY c.id DESC LIMIT 1`
const ageOf = optional(number, 'changed_at')

/** 2 MiB: some milliseconds. */
const pagesPerStep = 128

export function sqlitePruning(
  db: Database,
  recent: RecentChunks,
  trends: Pick<TrendTaking, 'writeAhead'>,
  fullness: () => number,
): Pruning {
  const sql = sqliteStatements(db)
  const shared = pruneStatements(sql)
  /** SQLite reuses only ids after the newest remaining one, which is usually too new to be pruned. */
  const mayPruneNewest = (before: number): boolean => {
    const row = db.prepare(selectNewest).get()
    return row === undefined || (ageOf(row) ?? -Infinity) < before
  }
  return {
    ...shared,
    runs: async (before, limit, from) => {
      if (mayPruneNewest(before)) trends.writeAhead()
      return db.transaction(() => {
        const done = execute(db, pruneRuns(before, limit, from, withinOf(db)))
        if (done.pruned > 0) moveBack(db, recent)
        return done
      })
    },
    events: async (before, limit) => {
      if (mayPruneNewest(before)) trends.writeAhead()
      return db.transaction(() => {
        const gone = Number(db.prepare(pruneEvents).run(before, limit).changes)
        if (gone > 0) moveBack(db, recent)
        return gone
      })
    },
    fullness: async () => fullness(),
    giveBack: async () => db.giveBack(pagesPerStep),
  }
}

const lastOf = number('last')

/** SQLite reuses the ids of the newest deleted chunks. */
function moveBack(db: Database, recent: RecentChunks): void {
  db.prepare(takeInSql.moveBack).run()
  const last = lastOf(db.prepare('SELECT coalesce(max(id), 0) AS last FROM chunks').get() ?? {})
  db.afterCommit(() => recent.forgetAfter(last))
}
