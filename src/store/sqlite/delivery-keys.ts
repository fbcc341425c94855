// Idempotency keys of deliveries on SQLite. Keys are random, so each insertion into the index would change another page. Therefore new keys
// first go to a small table in the order of the write-ahead log (WAL), and many of them join the others at once, sorted.
import { keyMemory } from '../ports/inbox.ts'
import { number, optional, record, text } from '../sql/columns.ts'
import type { Database } from './database.ts'

export interface DeliveryKeys {
  /** Within a transaction: the key of a delivery that is not in the WAL. False if it was known. */
  remember(key: string, now: number): boolean
  /** Within a transaction: the key of the WAL's delivery `seq`. */
  add(seq: number, key: string, now: number): void
  /** Within a transaction, after adding keys: moves new keys to the others if there are many. */
  joinMany(now: number): void
  /** Within a transaction: moves all new keys to the others. */
  joinAll(now: number): void
  /** Within a transaction: the key is unknown again. `seq`: its delivery, if that came through the WAL. */
  forget(key: string, seq: number | undefined): void
}

/** Moving so many takes some milliseconds, beside some hundred thousand others. */
const many = 8_192
/** Times of moved keys are rounded up to this, ms: with equal times the index by age grows at its end only. */
const roundedTo = 3_600_000

export function sqliteDeliveryKeys(db: Database): DeliveryKeys {
  // Approximate, as a rollback does not reset it.
  let fresh = number('keys')(db.prepare('SELECT count(*) AS keys FROM recent_delivery_keys').get() ?? {})

  function joinAll(now: number): void {
    db.prepare(
      `INSERT INTO delivery_keys (key, seen_at)
       SELECT key, (seen_at / ${roundedTo} + 1) * ${roundedTo} FROM recent_delivery_keys WHERE seen_at >= ? ORDER BY key
       ON CONFLICT (key) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at)`,
    ).run(now - keyMemory)
    db.prepare('DELETE FROM recent_delivery_keys').run()
    fresh = 0
  }

  return {
    remember: (key, now) => {
      const since = now - keyMemory
      if (db.prepare('SELECT 1 FROM recent_delivery_keys WHERE key = ? AND seen_at >= ?').get(key, since) !== undefined)
        return false
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
    joinMany: now => {
      if (fresh >= many) joinAll(now)
    },
    joinAll,
    forget: (key, seq) => {
      db.prepare('DELETE FROM delivery_keys WHERE key = ?').run(key)
      if (seq !== undefined) db.prepare('DELETE FROM recent_delivery_keys WHERE seq = ?').run(seq)
    },
  }
}

/** The keys as the ingress thread sees them: in memory it has those of deliveries in the WAL that have not joined the others. */
export interface IngressKeys {
  /** True if a delivery with this key was accepted. */
  isKnown(key: string, now: number): boolean
  /** To be called before the WAL's delivery `seq` with this key is written. */
  accept(key: string, seq: number, now: number): void
  /** Writing the deliveries from `seq` on has failed. */
  takeBack(seq: number): void
  /** `processed`: all deliveries up to this one are processed. */
  forgetJoined(processed: number): void
}

const recentKey = record({ seq: number('seq'), key: text('key'), seenAt: number('seen_at') })
const firstSeq = optional(number, 'seq')

export function ingressKeys(db: Database): IngressKeys {
  const waiting = new Map<string, { readonly seq: number; readonly seenAt: number }>()
  const fresh = db.prepare('SELECT seq, key, seen_at FROM recent_delivery_keys ORDER BY seq').all()
  for (const { seq, key, seenAt } of fresh.map(recentKey)) waiting.set(key, { seq, seenAt })
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
      return db.prepare('SELECT 1 FROM delivery_keys WHERE key = ? AND seen_at >= ?').get(key, since) !== undefined
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
