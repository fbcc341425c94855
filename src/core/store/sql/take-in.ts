// Takes in received deliveries, as steps of one transaction. The steps determine which deliveries are new, which runs they change, what else they
// report, and which of them could not be decoded.
import { changeRuns, type OnChanged } from './runs.ts'
import { deleteQuarantined, insertUndecodable } from '../ports/quarantine.ts'
import { each, forRows, type Steps, type Within } from './steps.ts'
import { text } from './columns.ts'
import type { TakingIn } from '../ports/runs.ts'

// The idempotency keys of deliveries: a delivery is a duplicate if its key was seen within the last week. Keys are random, so with rows in key order,
// each insertion would change a different page of the database. Rows are therefore ordered by day first, and an old day is deleted from the beginning
// of the table.

const oneDay = 24 * 3_600_000
/** How long a delivery key is kept, in ms. */
export const keyMemory = 7 * oneDay

/** SQLite has only one writer, so the statement may check for a known key before it inserts the key. */
const insertKeys = forRows(
  ['text', 'bigint'],
  ({ rows }) => `
  INSERT INTO delivery_keys (key, seen_at) ${rows}
  ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at WHERE delivery_keys.seen_at < excluded.seen_at - ${keyMemory}
  RETURNING key`,
  `INSERT INTO delivery_keys (key, seen_at) SELECT ?1, ?2
   WHERE NOT EXISTS (SELECT 1 FROM delivery_keys WHERE key = ?1 AND seen_at IN (${daysAround('?2')})) RETURNING key`,
)

/**
 * Returns whether each delivery is new. A delivery without a key (undefined) is always new. The keys of new deliveries are stored in this
 * transaction.
 */
function* rememberKeys(keys: readonly (string | undefined)[], { now }: Within): Steps<boolean[]> {
  const given = [...new Set(keys.filter(key => key !== undefined))].sort()
  // A key is stored with the end of its day as its time, so that no key is deleted too early.
  const today = (Math.floor(now / oneDay) + 1) * oneDay
  const fresh = yield each(
    insertKeys,
    given.map(key => [key, today]),
  )
  const isFresh = new Set(fresh.map(text('key')))
  return keys.map(key => key === undefined || isFresh.delete(key))
}

/** The days on which a known key may have been stored. Tomorrow is one of them, because the clock may have been set back over midnight. */
function daysAround(today: string): string {
  return Array.from({ length: keyMemory / oneDay + 2 }, (_, ago) => `${today} + ${(1 - ago) * oneDay}`).join(', ')
}

/** Takes in received deliveries. Returns for each delivery whether it was new. */
export function* takeIn(
  { keys, plan }: TakingIn,
  onChanged: OnChanged | undefined,
  within: Within,
): Steps<readonly boolean[]> {
  const areNew = yield* rememberKeys(keys, within)
  const { work, beside = {}, undecodable = [], retried = [] } = plan(areNew)
  yield* changeRuns(work, beside, onChanged, within)
  for (const step of insertUndecodable(undecodable)) yield step
  if (retried.length > 0) yield deleteQuarantined(retried)
  return areNew
}
