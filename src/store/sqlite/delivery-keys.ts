// Keys of deliveries on SQLite: one that is sent again is known by its key for a week. Keys come in no order, so each would change a
// page of its own: they wait in the order of the write-ahead log (WAL) until they are many, and join the others in the order of the keys.
import { keyMemory } from '../ports/inbox.ts'
import { number, optional, record, text } from '../sql/columns.ts'
import type { Database } from './database.ts'

export interface DeliveryKeys {
  /** Within a transaction: a delivery that has no place in the WAL. False when its key was known. */
  remember(key: string, now: number): boolean
  /** Within a transaction: the key of the WAL's delivery of that number. */
  add(seq: number, key: string, now: number): void
  /** Within a transaction, after its keys were added: they join the others when they have become many. */
  joinMany(now: number): void
  /** Within a transaction: all that wait join the others. */
  joinAll(now: number): void
  /** Within a transaction: a delivery with this key is new again. `seq`: its number, if it came by the WAL. */
  forget(key: string, seq: number | undefined): void
}

/** Keys that wait: some milliseconds of writing while the others are some hundred thousand. */
const many = 8_192
/** Keys that join are remembered up to this much longer, ms: with one time for all of them their index grows at its end. */
const roundedTo = 3_600_000

export function sqliteDeliveryKeys(db: Database): DeliveryKeys {
  // About: what a transaction that was rolled back had counted is not taken back.
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

/** What the thread of the ingress knows of keys: where in the WAL each of those is that have not joined the others. */
export interface IngressKeys {
  /** Whether a delivery with this key is on the disk. */
  isKnown(key: string, now: number): boolean
  /** It is about to be that of the WAL's delivery of this number. */
  accept(key: string, seq: number, now: number): void
  /** None from this number on was accepted after all. */
  takeBack(seq: number): void
  /** `processed`: every delivery up to this number is. */
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
        // One that is processed may have been forgotten since.
        if (place.seq > processed) return true
        const isFresh = db.prepare('SELECT 1 FROM recent_delivery_keys WHERE seq = ? AND key = ?')
        if (isFresh.get(place.seq, key) !== undefined) return true
      }
      return db.prepare('SELECT 1 FROM delivery_keys WHERE key = ? AND seen_at >= ?').get(key, since) !== undefined
    },
    accept: (key, seq, seenAt) => {
      // Last in the order, also where the key was known long ago.
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
