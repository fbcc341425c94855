// Gives back at a start what the process before had leased in rows. One process serves a file, so who had leased anything is dead, however
// it died: nobody waits for its leases to run out. Leases held in memory (`leases.ts`) ended with it.
import { forGood } from '../sql/too-far-ahead.ts'
import type { Database } from './database.ts'

/** All kinds of leases that are in rows. The one parameter: the store's time, ms. */
const givenBack: readonly string[] = [
  // Of a file that an earlier version served, or that was copied from PostgreSQL.
  `UPDATE outbox SET due_at = ?1, lease = NULL WHERE state = 'pending' AND lease IS NOT NULL`,
  'UPDATE enrichment_queue SET due_at = ?1, leased = 0 WHERE leased = 1',
  'UPDATE job_reads SET due_at = ?1, leased = 0 WHERE leased = 1',
  'UPDATE deployments SET due_at = ?1, leased = 0 WHERE leased = 1 AND due_at IS NOT NULL',
  'UPDATE changes SET due_at = ?1, leased = 0 WHERE leased = 1 AND due_at IS NOT NULL',
  // What one of several replicas does alone: polling, flushing metrics, maintenance and the like. The sign of a copy is for good.
  `DELETE FROM leases WHERE until < ?1 + ${forGood}`,
]

export function giveBackLeases(db: Database): void {
  for (const sql of givenBack) db.prepare(sql).run(db.now())
}
