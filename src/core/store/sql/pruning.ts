// Deletes rows that are no longer needed, for both databases. It works in small steps, so that other work is not blocked. `maintenance.ts` decides
// which rows to delete and when.
import { drop } from './outbox.ts'
import { each, forRows, type Steps, type Within } from './steps.ts'
import { insertTombstones, tombstoneValues } from './tombstone-text.ts'
import { cut, jobCount, maxJobsAtOnce, readPages } from './job-pages.ts'
import { number, record, type Row } from './columns.ts'
import { remember } from '../../../model/tombstone.ts'
import { storedRun } from './run-rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Run } from '../../../model/run.ts'
import type { ExportQueue } from '../ports/outbox.ts'
import type { Statements } from './statements.ts'

/** The position of a pruning round in the list of runs. */
export interface RunCursor {
  readonly changedAt: Millis
  readonly id: number
}

export interface RunsPruned {
  readonly pruned: number
  /** How many of the pruned runs left a tombstone. */
  readonly remembered: number
  /** Where the next step continues. Undefined after the last step. */
  readonly next?: RunCursor | undefined
}

export type Pruning = ReturnType<typeof pruning>

/** The operations for measuring and freeing space, which differ between the databases. */
export interface Space {
  /** Returns the fraction of the size limit that is in use. At 1, deliveries are rejected. */
  readonly fullness: () => Promise<number>
  /**
   * Returns unused space to the file system unless it is likely to be reused soon. Returns the number of freed bytes, and 0 when no more space can be
   * freed.
   */
  readonly giveBack: () => Promise<number>
}

export function pruning(sql: Statements, space: Space) {
  /** Deletes the oldest rows by a time column. Returns the number of deleted rows. */
  const older =
    (table: string, key: string, time: string) =>
    async (before: Millis, limit: number): Promise<number> =>
      sql.change(
        `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${time} < ?1 ORDER BY ${time} LIMIT ?2)`,
        [before, limit],
      )
  return {
    /**
     * Checks the next `limit` runs that are not due and last changed before `before`. Runs without a snapshot since then are deleted with their jobs
     * and chunks. A tombstone records what was exported. Pending exports of these runs stay.
     */
    runs: async (before: Millis, limit: number, from: RunCursor | undefined): Promise<RunsPruned> =>
      sql.transaction(within => pruneRuns(before, limit, from, within)),
    tombstones: older('tombstones', 'instance, pipeline_id', 'pruned_at'),
    /** Deletes events with their chunks, which deletes the rows of `events` and `event_states` as well. Pending exports of these events stay. */
    events: async (before: Millis, limit: number): Promise<number> =>
      sql.change(
        'DELETE FROM chunks WHERE id IN (SELECT chunk_id FROM events WHERE taken_at < ?1 ORDER BY taken_at LIMIT ?2)',
        [before, limit],
      ),
    /** Deletes dead letters that were rejected before `before`. */
    deadLetters: async (before: Millis, limit: number): Promise<number> => {
      const ids = `SELECT id FROM outbox WHERE state = 'dead' AND settled_at < ?1 ORDER BY settled_at LIMIT ?2`
      return sql.transaction(within => drop([ids, [before, limit]], within))
    },
    /** Deletes entries of a queue that is no longer configured, if they have been pending since before `before`. */
    unserved: async ({ destination, signal }: ExportQueue, before: Millis, limit: number): Promise<number> => {
      const ids = `SELECT id FROM outbox WHERE state = 'pending' AND destination = ?1 AND signal = ?2 AND pending_since < ?3
                   LIMIT ?4 ${sql.skipLocked}`
      return sql.transaction(within => drop([ids, [destination, signal, before, limit]], within))
    },
    quarantinedDeliveries: older('quarantined_deliveries', 'id', 'received_at'),
    /** Deletes idempotency keys that were first seen before `before`. */
    keys: older('delivery_keys', 'seen_at, key', 'seen_at'),
    ...space,
  }
}

/** Deletes the next runs that are complete and idle, and writes tombstones for those that were exported. Locked rows are skipped. */
function* pruneRuns(
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
  // On SQLite only one run at a time is in memory. On PostgreSQL, where each statement is a round trip, several runs are read at once.
  for (const slice of cut(locked, jobCount, isShared ? maxJobsAtOnce : 0)) {
    const pages = yield* readPages(slice.map(row => ({ row, jobs: 'all' })))
    // A damaged run is not pruned, because a tombstone could not list what was sent.
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

/** Selects runs that are not due and last changed before `?1`, after the cursor `(?2, ?3)`. */
const selectAtRest = `
  SELECT id, changed_at FROM runs WHERE due_at IS NULL AND changed_at < ?1 AND (changed_at, id) > (?2, ?3)
  ORDER BY changed_at, id LIMIT ?4`
const lockAtRest = forRows(
  ['bigint', 'bigint'],
  ({ rows, forUpdate }) => `
  SELECT runs.* FROM runs JOIN (WITH w (id, before) AS (${rows}) SELECT * FROM w) AS w ON w.id = runs.id
  WHERE due_at IS NULL AND changed_at < w.before ORDER BY runs.id ${forUpdate && `${forUpdate} OF runs SKIP LOCKED`}`,
)
/**
 * Whether a snapshot of the run was taken at `since` or later, so that pages still show the run. Pending entries do not need their run. A snapshot
 * time in the future is ignored, because it was stored while a clock was ahead.
 */
function isRecent({ attempts }: Run, since: Millis, now: Millis): boolean {
  return attempts.some(({ exported }) => exported !== undefined && exported.at >= since && exported.at <= now)
}

const deleteRuns = forRows(['bigint'], ({ among }) => `DELETE FROM runs WHERE ${among('id')}`)
const idOf = number('id')
const runCursor: (row: Row) => RunCursor = record({ changedAt: number('changed_at'), id: idOf })
