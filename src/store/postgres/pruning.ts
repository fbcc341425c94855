// Pruning on PostgreSQL: small transactions that skip rows which others have locked.
import { idOf, loadRemembered, runId } from './run-rows.ts'
import { slicesOf } from './slices.ts'
import { usedBytes } from './size.ts'
import { writeTombstones } from './tombstones.ts'
import { chunksInUse, pruneStatements, runCursor, selectAtRest } from '../sql/pruning.ts'
import { placed } from './arrays.ts'
import { postgresStatements } from './statements.ts'
import { tombstoneOfRow } from '../sql/run-rows.ts'
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
  const rest = await session.query(placed(selectAtRest('id, changed_at')), [
    before,
    from?.changedAt ?? -1,
    from?.id ?? -1,
    limit,
  ])
  const seen = rest.map(runCursor)
  const locked = await session.query(
    `SELECT * FROM runs WHERE id = ANY ($1::bigint[]) AND due_at IS NULL AND changed_at < $2
     ORDER BY id FOR UPDATE SKIP LOCKED`,
    [seen.map(({ id }) => id), before],
  )
  // After locking, and as a separate statement, so that it sees what others have just committed.
  const busy = await session.query(placed(`SELECT DISTINCT c.run_id ${chunksInUse('c.run_id = ANY (?1::bigint[])')}`), [
    locked.map(idOf),
    before,
    now,
  ])
  const isBusy = new Set(busy.map(runId))
  const rows = locked.filter(row => !isBusy.has(idOf(row)))
  const gone: number[] = []
  let remembered = 0
  for (const slice of await slicesOf(session, rows, idOf)) {
    const jobsOf = await loadRemembered(session, slice)
    const read = slice.flatMap(row => {
      const made = tombstoneOfRow(session.damaged, row, () => jobsOf(row))
      return made === undefined ? [] : [{ id: idOf(row), ...made }]
    })
    const tombstones = read.flatMap(({ tombstone }) => tombstone ?? [])
    await writeTombstones(session, tombstones, now)
    remembered += tombstones.length
    gone.push(...read.map(({ id }) => id))
  }
  await session.query('DELETE FROM runs WHERE id = ANY ($1::bigint[])', [gone])
  return { pruned: gone.length, remembered, next: seen.length < limit ? undefined : seen.at(-1) }
}
