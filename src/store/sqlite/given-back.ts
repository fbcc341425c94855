// Ends all leases that are stored in rows, at the start. Only one process serves a file, so their holder has crashed, and nothing must wait for them to
// expire. Leases in memory (`leases.ts`) ended with their process.
import { queueTables } from '../sql/leased-queue.ts'
import { forGood } from '../sql/too-far-ahead.ts'
import type { Database } from './database.ts'

/** The parameter: the store's time, ms. */
const givenBack: readonly string[] = [
  // In a file that was copied from PostgreSQL.
  `UPDATE outbox SET due_at = ?1, lease = NULL WHERE state = 'pending' AND lease IS NOT NULL`,
  ...queueTables.map(table => `UPDATE ${table} SET due_at = ?1, leased = 0 WHERE leased = 1 AND due_at IS NOT NULL`),
  // Polling, flushing metrics, maintenance and the like. The permanent lease that marks an unfinished copy stays.
  `DELETE FROM leases WHERE until < ?1 + ${forGood}`,
]

export function giveBackLeases(db: Database): void {
  for (const sql of givenBack) db.prepare(sql).run(db.now())
}
