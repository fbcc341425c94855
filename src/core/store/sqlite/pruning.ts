// Pruning on SQLite: small transactions, and free pages returned to the file system.
import { pruneRuns, pruneStatements } from '../sql/pruning.ts'
import { execute, sqliteStatements, withinOf } from './statements.ts'
import type { Database } from './database.ts'
import type { Pruning } from '../ports/pruning.ts'

/** 2 MiB: some milliseconds. */
const pagesPerStep = 128

export function sqlitePruning(db: Database, fullness: () => number): Pruning {
  const sql = sqliteStatements(db)
  const shared = pruneStatements(sql)
  return {
    ...shared,
    runs: async (before, limit, from) =>
      db.transaction(() => execute(db, pruneRuns(before, limit, from, withinOf(db)))),
    fullness: async () => fullness(),
    giveBack: async () => db.giveBack(pagesPerStep),
  }
}
