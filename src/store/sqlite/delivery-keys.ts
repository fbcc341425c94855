// Idempotency keys of deliveries on SQLite. Keys are random, so each insertion into a large table would change another page. Therefore new keys
// first go to a small table in the order of their numbers, and many of them are gathered in a table of medium size, sorted. From there neighbours
// join the others: what joins at once has few pages in common with what joined before, and many with itself (docs/internals/performance.md has the
// figures).
import { keyMemory } from '../ports/inbox.ts'
import { number, optional, record, text, type Row } from '../sql/columns.ts'
import type { Database } from './database.ts'

export interface DeliveryKeys {
  /** Within a transaction: the key of a delivery without a number. False if it was known. */
  remember(key: string, now: number): boolean
  /** Within a transaction: the key of the accepted delivery `seq`. */
  add(seq: number, key: string, now: number): void
  /** Within a transaction, after adding keys: gathers new keys if there are many, or lets some join the others. */
  joinSome(now: number): void
  /** Within a transaction: moves all new keys to the others. */
  joinAll(now: number): void
  /** Within a transaction: the key is unknown again. `seq`: its delivery, if that has a number. */
  forget(key: string, seq: number | undefined): void
}

export interface KeyLimits {
  /** So many new keys are gathered at once: some milliseconds. The ingress thread has them in memory until then. */
  readonly many: number
  /** So many are gathered before any of them joins the others. */
  readonly gathered: number
  /** So many join the others in one transaction, neighbours. */
  readonly together: number
}

const usual: KeyLimits = { many: 8_192, gathered: 65_536, together: 1_024 }
/** Times of joined keys are rounded up to this, ms: with equal times the index by age grows at its end only. */
const roundedTo = 3_600_000

/** SQLite sorts every blob behind every text. */
const behindAll = new Uint8Array()

const count = number('keys')
const keyOf = text('key')

export function sqliteDeliveryKeys(db: Database, { many, gathered: most, together }: KeyLimits = usual): DeliveryKeys {
  const rowsOf = (table: string): number => count(db.prepare(`SELECT count(*) AS keys FROM ${table}`).get() ?? {})
  // Approximate, as a rollback does not reset them. What is gathered is counted again each time its end is reached.
  let fresh = rowsOf('recent_delivery_keys')
  let gathered = rowsOf('gathered_delivery_keys')
  /** The last key that joined the others; those behind it are next. */
  let joined = ''

  // In two statements: with a conflict clause, SQLite would keep a copy of each page in memory until the end of the statement.
  function gather(): void {
    db.prepare('DELETE FROM gathered_delivery_keys WHERE key IN (SELECT key FROM recent_delivery_keys)').run()
    const moved = db
      .prepare(
        `INSERT OR FAIL INTO gathered_delivery_keys (key, seen_at)
         SELECT key, max(seen_at) FROM recent_delivery_keys GROUP BY key ORDER BY key`,
      )
      .run()
    db.prepare('DELETE FROM recent_delivery_keys').run()
    gathered += Number(moved.changes)
    fresh = 0
  }

  /** Without those that are to be forgotten by now. */
  function join(limit: number, now: number): void {
    const last = db
      .prepare('SELECT key FROM gathered_delivery_keys WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?')
      .get(joined, limit - 1)
    const range = [joined, last === undefined ? behindAll : keyOf(last)]
    const own = 'FROM gathered_delivery_keys WHERE key > ?1 AND key <= ?2'
    const since = now - keyMemory
    db.prepare(`DELETE FROM delivery_keys WHERE key IN (SELECT key ${own} AND seen_at >= ?3)`).run(...range, since)
    db.prepare(
      `INSERT OR FAIL INTO delivery_keys (key, seen_at)
       SELECT key, (seen_at / ${roundedTo} + 1) * ${roundedTo} ${own} AND seen_at >= ?3 ORDER BY key`,
    ).run(...range, since)
    gathered -= Number(db.prepare(`DELETE ${own}`).run(...range).changes)
    joined = last === undefined ? '' : keyOf(last)
    if (last === undefined) gathered = rowsOf('gathered_delivery_keys')
  }

  return {
    remember: (key, now) => {
      const since = now - keyMemory
      if (db.prepare(selectNew).get(key, since) !== undefined) return false
      const remember = db.prepare(
        `INSERT INTO delivery_keys (key, seen_at) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET seen_at = ?2 WHERE seen_at < ?3`,
      )
      return remember.run(key, now, since).changes !== 0
    },
    add: (seq, key, now) => {
      db.prepare('INSERT OR REPLACE INTO recent_delivery_keys (seq, key, seen_at) VALUES (?, ?, ?)').run(seq, key, now)
      fresh += 1
    },
    joinSome: now => {
      if (fresh >= many) gather()
      else if (gathered > most) join(together, now)
    },
    joinAll: now => {
      gather()
      joined = ''
      join(Number.MAX_SAFE_INTEGER, now)
    },
    forget: (key, seq) => {
      db.prepare('DELETE FROM delivery_keys WHERE key = ?').run(key)
      db.prepare('DELETE FROM gathered_delivery_keys WHERE key = ?').run(key)
      if (seq !== undefined) db.prepare('DELETE FROM recent_delivery_keys WHERE seq = ?').run(seq)
    },
  }
}

const selectNew = `
  SELECT 1 FROM gathered_delivery_keys WHERE key = ?1 AND seen_at >= ?2
  UNION ALL SELECT 1 FROM recent_delivery_keys WHERE key = ?1 AND seen_at >= ?2`
const selectJoined = `
  SELECT 1 FROM gathered_delivery_keys WHERE key = ?1 AND seen_at >= ?2
  UNION ALL SELECT 1 FROM delivery_keys WHERE key = ?1 AND seen_at >= ?2`

/** The keys as the ingress thread sees them: in memory it has those of accepted deliveries that have not joined the others. */
export interface IngressKeys {
  /** True if a delivery with this key was accepted. */
  isKnown(key: string, now: number): boolean
  /** To be called before the delivery `seq` with this key is written. */
  accept(key: string, seq: number, now: number): void
  /** Writing the deliveries from `seq` on has failed. */
  takeBack(seq: number): void
  /** `processed`: all deliveries up to this one are processed. */
  forgetJoined(processed: number): void
}

/** The key of the accepted delivery `seq`. */
export interface KeyOfDelivery {
  readonly seq: number
  readonly key: string
  readonly seenAt: number
}

const recentKey: (row: Row) => KeyOfDelivery = record({
  seq: number('seq'),
  key: text('key'),
  seenAt: number('seen_at'),
})
const firstSeq = optional(number, 'seq')

/** `unprocessed`: the keys of deliveries that an earlier process accepted and did not process. */
export function ingressKeys(db: Database, unprocessed: readonly KeyOfDelivery[]): IngressKeys {
  const waiting = new Map<string, { readonly seq: number; readonly seenAt: number }>()
  const fresh = db.prepare('SELECT seq, key, seen_at FROM recent_delivery_keys').all().map(recentKey)
  const known = [...unprocessed, ...fresh].sort((a, b) => a.seq - b.seq)
  for (const { seq, key, seenAt } of known) waiting.set(key, { seq, seenAt })
  let processed = Infinity
  return {
    isKnown: (key, now) => {
      const since = now - keyMemory
      const place = waiting.get(key)
      if (place !== undefined && place.seenAt >= since) {
        // The key of a processed delivery may have been forgotten since.
        if (place.seq > processed) return true
        const isFresh = db.prepare('SELECT 1 FROM recent_delivery_keys WHERE seq = ? AND key = ?')
        if (isFresh.get(place.seq, key) !== undefined) return true
      }
      return db.prepare(selectJoined).get(key, since) !== undefined
    },
    accept: (key, seq, seenAt) => {
      // Deleted first, so that it becomes the last in the order of the map.
      waiting.delete(key)
      waiting.set(key, { seq, seenAt })
    },
    takeBack: from => {
      for (const [key, { seq }] of waiting) if (seq >= from) waiting.delete(key)
    },
    forgetJoined: upTo => {
      processed = upTo
      const first = firstSeq(db.prepare('SELECT min(seq) AS seq FROM recent_delivery_keys').get() ?? {})
      for (const [key, { seq }] of waiting) {
        if (seq > processed || seq >= (first ?? Infinity)) return
        waiting.delete(key)
      }
    },
  }
}
