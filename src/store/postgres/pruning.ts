// Giving up what is old, on PostgreSQL: small transactions that step past rows which others hold.
import { loadJobs, runOf } from './run-rows.ts'
import { remember } from '../../model/tombstone.ts'
import { slicesOf } from './slices.ts'
import { usedBytes } from './size.ts'
import { writeMemories } from './tombstones.ts'
import { prunedRun } from '../sql/run-rows.ts'
import type { Database, Session } from './database.ts'
import type { Pruning, RunCursor, RunsPruned } from '../ports/pruning.ts'

export function postgresPruning(db: Database, maxSize: number): Pruning {
  const changes = async (sql: string, values: readonly (number | string)[]): Promise<number> =>
    (await db.query(sql, values)).length
  return {
    runs: async (before, limit, from) =>
      db.transaction(async (session, now) => pruneRuns(session, now, before, limit, from)),
    tombstones: async (before, limit) =>
      changes(
        `DELETE FROM tombstones WHERE (instance, pipeline_id) IN
           (SELECT instance, pipeline_id FROM tombstones WHERE pruned_at < $1 ORDER BY pruned_at LIMIT $2) RETURNING 1`,
        [before, limit],
      ),
    deadLetters: async (before, limit) =>
      changes(
        `UPDATE outbox SET state = 'dropped' WHERE id IN
           (SELECT id FROM outbox WHERE state = 'dead' AND settled_at < $1 ORDER BY settled_at LIMIT $2) RETURNING 1`,
        [before, limit],
      ),
    unserved: async ({ destination, signal }, before, limit) =>
      changes(
        `UPDATE outbox SET state = 'dropped', lease = NULL, settled_at = pending_since WHERE id IN
           (SELECT id FROM outbox WHERE state = 'pending' AND destination = $1 AND signal = $2 AND pending_since < $3::bigint
            LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING 1`,
        [destination, signal, before, limit],
      ),
    quarantinedDeliveries: async (before, limit) =>
      changes(
        `DELETE FROM quarantined_deliveries WHERE id IN
           (SELECT id FROM quarantined_deliveries WHERE received_at < $1 LIMIT $2) RETURNING 1`,
        [before, limit],
      ),
    keys: async (before, limit) =>
      changes(
        `DELETE FROM delivery_keys WHERE key IN
           (SELECT key FROM delivery_keys WHERE seen_at < $1 ORDER BY seen_at LIMIT $2) RETURNING 1`,
        [before, limit],
      ),
    fullness: async () => (await usedBytes(db)) / maxSize,
    // Autovacuum does it.
    giveBack: async () => 0,
  }
}

async function pruneRuns(
  session: Session,
  now: number,
  before: number,
  limit: number,
  from: RunCursor | undefined,
): Promise<RunsPruned> {
  const seen = await session.query(
    `SELECT id, changed_at FROM runs WHERE due_at IS NULL AND changed_at < $1 AND (changed_at, id) > ($2, $3)
     ORDER BY changed_at, id LIMIT $4`,
    [before, from?.changedAt ?? -1, from?.id ?? -1, limit],
  )
  const last = seen.length < limit ? undefined : seen.at(-1)
  const next = last && { changedAt: last.changed_at as number, id: last.id as number }
  const locked = await session.query(
    `SELECT * FROM runs WHERE id = ANY ($1::bigint[]) AND due_at IS NULL AND changed_at < $2
     ORDER BY id FOR UPDATE SKIP LOCKED`,
    [seen.map(({ id }) => id), before],
  )
  // Asked only now that nobody can owe anything more of them: a statement of its own sees what others committed.
  const busy = await session.query(
    `SELECT DISTINCT p.run_id FROM chunks p LEFT JOIN outbox e ON e.chunk_id = p.id
     WHERE p.run_id = ANY ($1::bigint[])
       AND (p.snapshot_at BETWEEN $2 AND $3 OR e.state IN ('pending', 'dead') OR e.settled_at BETWEEN $2 AND $3)`,
    [locked.map(({ id }) => id), before, now],
  )
  const isBusy = new Set(busy.map(row => row.run_id as number))
  const rows = locked.filter(({ id }) => !isBusy.has(id as number))
  const gone: number[] = []
  let remembered = 0
  for (const slice of await slicesOf(session, rows, ({ id }) => id as number)) {
    const jobs = await loadJobs(
      session,
      slice.map(run => ({ run, jobs: 'all' })),
    )
    const read = slice.flatMap(row => {
      const run = prunedRun(session.damaged, row, () => runOf(row, jobs))
      return run === undefined ? [] : [{ id: row.id as number, tombstone: remember(run) }]
    })
    const tombstones = read.flatMap(({ tombstone }) => tombstone ?? [])
    await writeMemories(session, tombstones, now)
    remembered += tombstones.length
    gone.push(...read.map(({ id }) => id))
  }
  await session.query('DELETE FROM runs WHERE id = ANY ($1::bigint[])', [gone])
  return { pruned: gone.length, remembered, next }
}
