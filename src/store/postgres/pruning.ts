// Giving up what is old, on PostgreSQL: small transactions that step past rows which others hold.
import { loadJobs, runOf } from './run-rows.ts'
import { remember } from '../../model/tombstone.ts'
import { slicesOf } from './slices.ts'
import { usedBytes } from './size.ts'
import { writeMemories } from './tombstones.ts'
import { pruneStatements } from '../sql/pruning.ts'
import { postgresStatements } from './statements.ts'
import { prunedRun } from '../sql/run-rows.ts'
import type { Database, Session } from './database.ts'
import type { Pruning, RunCursor, RunsPruned } from '../ports/pruning.ts'

export function postgresPruning(db: Database, maxSize: number): Pruning {
  return {
    ...pruneStatements(postgresStatements(db)),
    runs: async (before, limit, from) =>
      db.transaction(async (session, now) => pruneRuns(session, now, before, limit, from)),
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
