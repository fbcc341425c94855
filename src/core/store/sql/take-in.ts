// What was received becomes part of its runs, as the steps of one transaction: which deliveries are new, what they change, what they
// report besides, and which could not be decoded.
import { changeRuns, type OnChanged } from './runs.ts'
import { deleteQuarantined, insertUndecodable } from '../ports/quarantine.ts'
import { each, forRows, type Steps, type Within } from './steps.ts'
import { text } from './columns.ts'
import type { TakingIn } from '../ports/runs.ts'

// Idempotency keys of deliveries: a delivery whose key was seen within a week is a repeated one. Keys are random, so each insertion
// would change another page of the database; so they are ordered by day first, and an old day is deleted from the table's beginning.

const oneDay = 24 * 3_600_000
/** How long a key is remembered, ms. */
export const keyMemory = 7 * oneDay

/** SQLite has one writer, so it may check first. */
const insertKeys = forRows(
  ['text', 'bigint'],
  ({ rows }) => `
  INSERT INTO delivery_keys (key, seen_at) ${rows}
  ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at WHERE delivery_keys.seen_at < excluded.seen_at - ${keyMemory}
  RETURNING key`,
  `INSERT INTO delivery_keys (key, seen_at) SELECT ?1, ?2
   WHERE NOT EXISTS (SELECT 1 FROM delivery_keys WHERE key = ?1 AND seen_at IN (${daysBefore('?2')})) RETURNING key`,
)

/** Whether each delivery is new. Undefined: it has no key. Keys of new ones are remembered in this transaction. */
function* rememberKeys(keys: readonly (string | undefined)[], { now }: Within): Steps<boolean[]> {
  const given = [...new Set(keys.filter(key => key !== undefined))].sort()
  // The end of the day, so that no key is forgotten too early.
  const today = (Math.floor(now / oneDay) + 1) * oneDay
  const fresh = yield each(
    insertKeys,
    given.map(key => [key, today]),
  )
  const isFresh = new Set(fresh.map(text('key')))
  return keys.map(key => key === undefined || isFresh.delete(key))
}

function daysBefore(today: string): string {
  return Array.from({ length: keyMemory / oneDay + 1 }, (_, ago) => `${today} - ${ago * oneDay}`).join(', ')
}

/** Returns whether each delivery was new. */
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
