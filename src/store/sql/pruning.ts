// Giving up what is old, in small steps: all but the runs themselves.
import type { Pruning } from '../ports/pruning.ts'
import type { Statements } from './statements.ts'

export function pruneStatements(
  sql: Statements,
): Pick<Pruning, 'tombstones' | 'deadLetters' | 'unserved' | 'quarantinedDeliveries' | 'keys'> {
  return {
    tombstones: async (before, limit) =>
      sql.change(
        `DELETE FROM tombstones WHERE (instance, pipeline_id) IN
           (SELECT instance, pipeline_id FROM tombstones WHERE pruned_at < ?1 ORDER BY pruned_at LIMIT ?2)`,
        [before, limit],
      ),
    deadLetters: async (before, limit) =>
      sql.change(
        `UPDATE outbox SET state = 'dropped' WHERE id IN
           (SELECT id FROM outbox WHERE state = 'dead' AND settled_at < ?1 ORDER BY settled_at LIMIT ?2)`,
        [before, limit],
      ),
    unserved: async ({ destination, signal }, before, limit) =>
      sql.change(
        `UPDATE outbox SET state = 'dropped', lease = NULL, settled_at = pending_since WHERE id IN
           (SELECT id FROM outbox WHERE state = 'pending' AND destination = ?1 AND signal = ?2 AND pending_since < ?3
            LIMIT ?4 ${sql.skipLocked})`,
        [destination, signal, before, limit],
      ),
    quarantinedDeliveries: async (before, limit) =>
      sql.change(
        `DELETE FROM quarantined_deliveries WHERE id IN
           (SELECT id FROM quarantined_deliveries WHERE received_at < ?1 LIMIT ?2)`,
        [before, limit],
      ),
    keys: async (before, limit) =>
      sql.change(
        'DELETE FROM delivery_keys WHERE key IN (SELECT key FROM delivery_keys WHERE seen_at < ?1 ORDER BY seen_at LIMIT ?2)',
        [before, limit],
      ),
  }
}
