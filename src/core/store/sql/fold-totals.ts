// What snapshots add to totals, for both databases.
//
// 1. The transaction that takes snapshots, or that counts, appends one row with what all of them add (`addTotals`). It reads and locks no total.
// 2. Every few seconds, and before totals are read, rows are folded: one transaction deletes some, and adds them to the totals. A row is deleted once,
//    whatever is killed and however many replicas fold, so a total is always the sum of the rows that are gone: no position has to be stored.
//
// Rows are not read back by their own transaction, so what a busy daemon adds to one series thousands of times is written to it once every few seconds.
import { packed, unpacked } from './packed-increments.ts'
import { lockNames, type Steps, type Within } from './steps.ts'
import { moveTotals } from './moving-totals.ts'
import { bytes, number, record } from './columns.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ProjectIncrements } from '../../../model/totals.ts'
import type { Statements } from './statements.ts'

/** Rows that one transaction folds: some tens of milliseconds of work on a busy daemon. */
const rowsAtOnce = 32

/** Within the transaction that takes the snapshots or counts. */
export function* addTotals(increments: readonly ProjectIncrements[], { now }: Within): Steps<void> {
  if (increments.length > 0)
    yield ['INSERT INTO totals_added (added_at, content) VALUES (?1, ?2)', [now, packed(increments)]]
}

const isAnyAdded = 'SELECT 1 FROM totals_added LIMIT 1'
const takeAdded = `
  DELETE FROM totals_added WHERE id IN (SELECT id FROM totals_added ORDER BY id LIMIT ${rowsAtOnce})
  RETURNING id, added_at, content`
const added = record({ id: number('id'), at: number('added_at'), content: bytes('content') })

/** Folds all rows, a few at a time, between which other work goes on. */
export function createFold(sql: Statements): () => Promise<void> {
  return async () => {
    // Usually there is nothing, and a SELECT needs no transaction.
    if ((await sql.all(isAnyAdded)).length === 0) return
    while ((await sql.transaction(foldSome)) === rowsAtOnce) await nextTurn()
  }
}

function* foldSome(within: Within): Steps<number> {
  // Two replicas that fold at once would lock the same totals in turn.
  yield* lockNames(['totals'], within)
  const rows = (yield [takeAdded, []]).map(added).sort((a, b) => a.id - b.id)
  const increments = rows.flatMap(
    ({ id, content }) =>
      within.damaged.orNothing({ totalsAdded: id }, 'it is not counted', () => unpacked(content)) ?? [],
  )
  // The interval of a new series begins before the first of these rows.
  const at = Math.min(...rows.map(row => row.at))
  if (increments.length > 0) yield* moveTotals(increments, { ...within, now: at })
  return rows.length
}
