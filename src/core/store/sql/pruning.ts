// Pruning, for both databases: small transactions.
import { drop } from './outbox.ts'
import { each, forRows, type Steps, type Within } from './steps.ts'
import { insertTombstones, tombstoneValues } from './tombstone-text.ts'
import { cut } from './cut.ts'
import { jobCount, maxJobsAtOnce, readPages } from './job-pages.ts'
import { number, record, type Row } from './columns.ts'
import { remember } from '../../../model/tombstone.ts'
import { storedRun } from './run-rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Run } from '../../../model/run.ts'
import type { Pruning, RunCursor, RunsPruned } from '../ports/pruning.ts'
import type { Statements } from './statements.ts'

/** Rows of `events` and `event_states` are deleted with their chunk. Messages of them stay until they are sent. */
const pruneEvents = `
  DELETE FROM chunks WHERE id IN (SELECT chunk_id FROM events WHERE taken_at < ?1 ORDER BY taken_at LIMIT ?2)`

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
    events: async (before, limit) => sql.change(pruneEvents, [before, limit]),
    deadLetters: async (before, limit) =>
      sql.transaction(within =>
        drop(
          [
            `SELECT id FROM outbox WHERE state = 'dead' AND settled_at < ?1 ORDER BY settled_at LIMIT ?2`,
            [before, limit],
          ],
          within,
        ),
      ),
    unserved: async ({ destination, signal }, before, limit) =>
      sql.transaction(within =>
        drop(
          [
            `SELECT id FROM outbox WHERE state = 'pending' AND destination = ?1 AND signal = ?2 AND pending_since < ?3
             LIMIT ?4 ${sql.skipLocked}`,
            [destination, signal, before, limit],
          ],
          within,
        ),
      ),
    quarantinedDeliveries: async (before, limit) =>
      sql.change(
        `DELETE FROM quarantined_deliveries WHERE id IN
           (SELECT id FROM quarantined_deliveries WHERE received_at < ?1 ORDER BY received_at LIMIT ?2)`,
        [before, limit],
      ),
    keys: async (before, limit) =>
      sql.change(
        'DELETE FROM delivery_keys WHERE (seen_at, key) IN (SELECT seen_at, key FROM delivery_keys WHERE seen_at < ?1 ORDER BY seen_at LIMIT ?2)',
        [before, limit],
      ),
  }
}

/** Deletes the next runs that are complete and not in use, and writes tombstones for those that were exported. Locked rows are skipped. */
export function* pruneRuns(
  before: Millis,
  limit: number,
  from: RunCursor | undefined,
  { now, damaged, isShared }: Within,
): Steps<RunsPruned> {
  const seen = (yield [selectAtRest, [before, from?.changedAt ?? -1, from?.id ?? -1, limit]]).map(runCursor)
  const locked = yield each(
    lockAtRest,
    seen.map(({ id }) => [id, before]),
  )
  let pruned = 0
  let remembered = 0
  // One run at a time is in memory, unless statements are round trips.
  for (const slice of cut(locked, jobCount, isShared ? maxJobsAtOnce : 0)) {
    const pages = yield* readPages(slice.map(row => ({ row, jobs: 'all' })))
    // Without its run, a tombstone would not know what was sent: a damaged run is not pruned.
    const runs = slice.flatMap(row => {
      const run = storedRun(damaged, row, pages.get(idOf(row)) ?? [])?.run
      return run === undefined || isRecent(run, before, now) ? [] : [{ id: idOf(row), tombstone: remember(run) }]
    })
    const tombstones = runs.flatMap(({ tombstone }) => tombstone ?? [])
    yield each(
      insertTombstones,
      tombstones.map(tombstone => tombstoneValues(tombstone, now)),
    )
    yield each(
      deleteRuns,
      runs.map(({ id }) => [id]),
    )
    pruned += runs.length
    remembered += tombstones.length
  }
  return { pruned, remembered, next: seen.length < limit ? undefined : seen.at(-1) }
}

/** Runs that are not due and last changed before `?1`, after the cursor `(?2, ?3)`. */
const selectAtRest = `
  SELECT id, changed_at FROM runs WHERE due_at IS NULL AND changed_at < ?1 AND (changed_at, id) > (?2, ?3)
  ORDER BY changed_at, id LIMIT ?4`
const lockAtRest = forRows(
  ['bigint', 'bigint'],
  ({ rows, forUpdate }) => `
  SELECT runs.* FROM runs JOIN (WITH w (id, before) AS (${rows}) SELECT * FROM w) AS w ON w.id = runs.id
  WHERE due_at IS NULL AND changed_at < w.before ORDER BY runs.id ${forUpdate && `${forUpdate} OF runs SKIP LOCKED`}`,
)
/** A snapshot was taken of it since then, so that pages still show it. What is pending of a run does not need it. A time to come is of a clock that was ahead. */
function isRecent({ attempts }: Run, since: Millis, now: Millis): boolean {
  return attempts.some(({ exported }) => exported !== undefined && exported.at >= since && exported.at <= now)
}

const deleteRuns = forRows(['bigint'], ({ among }) => `DELETE FROM runs WHERE ${among('id')}`)
const idOf = number('id')
const runCursor: (row: Row) => RunCursor = record({ changedAt: number('changed_at'), id: idOf })
