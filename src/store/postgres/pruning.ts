// Pruning on PostgreSQL. Autovacuum gives space back.
import { postgresStatements } from './statements.ts'
import { pruneRuns, pruneStatements } from '../sql/pruning.ts'
import { usedBytes } from './size.ts'
import type { Database } from './database.ts'
import type { Pruning } from '../ports/pruning.ts'

export function postgresPruning(db: Database, maxSize: number): Pruning {
  const sql = postgresStatements(db)
  return {
    ...pruneStatements(sql),
    runs: async (before, limit, from) => sql.transaction(within => pruneRuns(before, limit, from, undefined, within)),
    fullness: async () => (await usedBytes(db)) / maxSize,
    giveBack: async () => 0,
  }
}
