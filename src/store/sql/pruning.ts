// The SQL of pruning that both databases share.
import { number, record, type Row } from './columns.ts'
import type { Pruning, RunCursor } from '../ports/pruning.ts'
import type { Statements } from './statements.ts'

/** Rows of `events`, `event_states` and `outbox` are deleted with their chunk. */
export const pruneEvents = `
  DELETE FROM chunks WHERE id IN
    (SELECT e.chunk_id FROM events e WHERE e.taken_at < ?1 AND NOT EXISTS
       (SELECT 1 FROM outbox o WHERE o.chunk_id = e.chunk_id
        AND (o.state IN ('pending', 'dead') OR o.settled_at BETWEEN ?1 AND ?3))
     ORDER BY e.taken_at LIMIT ?2)`

export function pruneStatements(
  sql: Statements,
): Pick<Pruning, 'tombstones' | 'events' | 'deadLetters' | 'unserved' | 'quarantinedDeliveries' | 'keys'> {
  return {
    tombstones: async (before, limit) =>
      sql.change(
        `DELETE FROM tombstones WHERE (instance, pipeline_id) IN
           (SELECT instance, pipeline_id FROM tombstones WHERE pruned_at < ?1 ORDER BY pruned_at LIMIT ?2)`,
        [before, limit],
      ),
    events: async (before, limit) => sql.change(pruneEvents, [before, limit, await sql.now()]),
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
           (SELECT id FROM quarantined_deliveries WHERE received_at < ?1 ORDER BY received_at LIMIT ?2)`,
        [before, limit],
      ),
    keys: async (before, limit) =>
      sql.change(
        'DELETE FROM delivery_keys WHERE key IN (SELECT key FROM delivery_keys WHERE seen_at < ?1 ORDER BY seen_at LIMIT ?2)',
        [before, limit],
      ),
  }
}

/** Runs that are not due and last changed before `?1`, after the cursor `(?2, ?3)`. */
export function selectAtRest(columns: string): string {
  return `
    SELECT ${columns} FROM runs WHERE due_at IS NULL AND changed_at < ?1 AND (changed_at, id) > (?2, ?3)
    ORDER BY changed_at, id LIMIT ?4`
}

export const runCursor: (row: Row) => RunCursor = record({ changedAt: number('changed_at'), id: number('id') })

/**
 * Chunks that keep their runs from being pruned: the snapshot was taken or an entry settled between `?2` and `?3`, so that pages still show
 * it; or an entry is pending or a dead letter.
 */
export function chunksInUse(runs: string): string {
  return `
    FROM chunks c LEFT JOIN outbox e ON e.chunk_id = c.id
    WHERE ${runs} AND (c.snapshot_at BETWEEN ?2 AND ?3 OR e.state IN ('pending', 'dead') OR e.settled_at BETWEEN ?2 AND ?3)`
}
