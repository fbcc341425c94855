// Idempotency keys of deliveries on SQLite. Keys are random, so each insertion changes another page. Therefore the table is sorted by day first: new keys
// change only the pages of a day, and a week is removed from its beginning.
import { endOfDay, keyMemory, oneDay } from '../ports/inbox.ts'
import type { Database } from './database.ts'
import type { Value } from '../sql/statements.ts'

export interface DeliveryKeys {
  /** Within a transaction. False if it was known. */
  remember(key: string, now: number): boolean
  /** Within a transaction: the key of a delivery that was accepted because it was not known. */
  add(key: string, now: number): void
  /** Within a transaction: forgets the key. */
  forget(key: string): void
}

/** The days whose keys are still known. */
const days = Array.from({ length: keyMemory / oneDay + 1 }, (_, ago) => ago * oneDay)

const select = `SELECT 1 FROM delivery_keys WHERE key = ? AND seen_at IN (${days.map(() => '?').join(', ')})`

function isRemembered(db: Database, key: string, now: number): boolean {
  const today = endOfDay(now)
  return db.prepare(select).get(key, ...days.map((ago): Value => today - ago)) !== undefined
}

export function sqliteDeliveryKeys(db: Database): DeliveryKeys {
  const add = (key: string, now: number): void => {
    db.prepare('INSERT OR IGNORE INTO delivery_keys (key, seen_at) VALUES (?, ?)').run(key, endOfDay(now))
  }
  return {
    remember: (key, now) => {
      if (isRemembered(db, key, now)) return false
      add(key, now)
      return true
    },
    add,
    forget: key => {
      const today = endOfDay(db.now())
      const statement = db.prepare('DELETE FROM delivery_keys WHERE key = ? AND seen_at = ?')
      for (const ago of days) statement.run(key, today - ago)
    },
  }
}

/** The keys as the ingress thread sees them: those of unprocessed deliveries are in its memory. */
export interface IngressKeys {
  /** True if a delivery with this key was accepted. */
  isKnown(key: string, now: number): boolean
  /** To be called before the delivery `seq` with this key is written. */
  accept(key: string, seq: number, now: number): void
  /** Writing the deliveries from `seq` on has failed. */
  takeBack(seq: number): void
  /** All deliveries up to this one are processed. */
  forgetProcessed(processed: number): void
}

/** The key of the accepted delivery `seq`. */
export interface KeyOfDelivery {
  readonly seq: number
  readonly key: string
  readonly seenAt: number
}

/** `unprocessed`: the keys of deliveries that an earlier process accepted but did not process, in their order. */
export function ingressKeys(db: Database, unprocessed: readonly KeyOfDelivery[]): IngressKeys {
  const waiting = new Map(unprocessed.map(one => [one.key, one]))
  return {
    isKnown: (key, now) => (waiting.get(key)?.seenAt ?? -Infinity) >= now - keyMemory || isRemembered(db, key, now),
    accept: (key, seq, seenAt) => {
      // Deleted first, so that it becomes the last in the order of the map.
      waiting.delete(key)
      waiting.set(key, { seq, key, seenAt })
    },
    takeBack: from => {
      for (const { key, seq } of waiting.values()) if (seq >= from) waiting.delete(key)
    },
    forgetProcessed: processed => {
      for (const { key, seq } of waiting.values()) {
        if (seq > processed) return
        waiting.delete(key)
      }
    },
  }
}
