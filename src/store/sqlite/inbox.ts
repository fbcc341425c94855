// The inbox on SQLite: what the ingress has taken is read from the write-ahead log (WAL) beside the file; what comes another way (redelivery,
// retries) is in a table. A row of the table has the number below zero, so that both have ids of their own.
import { randomUUID } from 'node:crypto'
import { itemOf, quarantinedOf } from '../sql/rows.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { WalInbox } from './wal-inbox.ts'
import type { WalState } from './wal-checkpoint.ts'
import type { Database, Row } from './database.ts'
import { isProcessed } from './wal/checkpoint.ts'
import { openReadingNote, type ReadingNote } from './reading-note.ts'
import { readCheckpoint } from './wal-checkpoint.ts'
import {
  blamedInHaste,
  readAlone,
  type Delivery,
  type Inbox,
  type InboxItem,
  type InboxState,
  type PutOutcome,
  type SharedInbox,
} from '../ports/inbox.ts'
import { StoreError } from '../../lib/fault.ts'
import type { Leases } from './leases.ts'

/** All that waits, and who has it at the moment. */
export interface Waiting {
  readonly db: Database
  readonly leases: Leases
  readonly keys: DeliveryKeys
  /** None for a store in memory. */
  readonly wal: WalInbox | undefined
}

export interface SqliteInboxOptions {
  /** Bytes that the store has. */
  readonly size: () => number
  readonly maxSize: number
  /** What of the WAL waits. */
  readonly walState: () => WalState
}

/**
 * For the one process that works it off. `noteFile`: where is noted what is being read (`reading-note.ts`); undefined for a store
 * in memory.
 */
export function sqliteInbox(waiting: Waiting, options: SqliteInboxOptions, noteFile: string | undefined): Inbox {
  const { db, leases, keys, wal } = waiting
  let note: ReadingNote | undefined
  return {
    ...sqliteSharedInbox(waiting, options),
    lease: async (limit, maxBytes, holdMs) => {
      const token = randomUUID()
      note ??= openReadingNote(noteFile, stillWaits(db))
      const items = lease(waiting, note, token, { limit, maxBytes, holdMs })
      if (items.length > 0) note.begin(items.map(({ id }) => id))
      return { token, items }
    },
    readingEnded: async () => note?.end(),
    erase: async (token, ids) => {
      const own = ids.filter(id => leases.isHeldBy(id, token))
      db.transaction(() => erase(waiting, own))
      return own.length
    },
    quarantine: async (token, id, why) => {
      if (!leases.isHeldBy(id, token)) return false
      const item = id > 0 ? wal?.item(id) : rowOf(db, id)
      if (item === undefined) return false
      db.transaction(() => {
        erase(waiting, [id])
        if (item.key !== undefined) keys.forget(item.key, id > 0 ? id : undefined)
        db.prepare(
          `INSERT INTO quarantined_deliveries (key, event, instance, source, received_at, body, reason, version)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(...[...columnsOf(item), why.body, why.reason, why.version])
      })
      return true
    },
  }
}

/** For whoever looks at it beside that one. */
export function sqliteSharedInbox(waiting: Waiting, options: SqliteInboxOptions): SharedInbox {
  const { db } = waiting
  return {
    put: async deliveries => put(waiting, deliveries, options),
    listQuarantined: async limit =>
      db
        .prepare(
          `SELECT id, event, instance, source, received_at, reason, version, length(body) AS size
           FROM quarantined_deliveries ORDER BY id DESC LIMIT ?`,
        )
        .all(limit)
        .map(row => quarantinedOf(row as Row)),
    showQuarantined: async id => {
      const row = db.prepare('SELECT *, length(body) AS size FROM quarantined_deliveries WHERE id = ?').get(id) as
        Row | undefined
      return row === undefined ? undefined : { delivery: quarantinedOf(row), body: row.body as Uint8Array }
    },
    retryQuarantined: async ids =>
      db.transaction(() =>
        ids === 'all'
          ? requeue(db, 'id > ?', 0)
          : ids.map(id => requeue(db, 'id = ?', id)).reduce((sum, count) => sum + count, 0),
      ),
    retryQuarantinedOfOtherVersions: async version =>
      db.transaction(() =>
        requeue(db, 'version <> ? OR substr(reason, 1, length(?)) = ?', version, blamedInHaste, blamedInHaste),
      ),
    state: async () => state(db, options.walState()),
  }
}

function put(
  { db, keys }: Waiting,
  deliveries: readonly Delivery[],
  { size, maxSize }: SqliteInboxOptions,
): PutOutcome[] {
  return db.transaction(() => {
    if (size() >= maxSize) return deliveries.map(() => 'full')
    const now = db.now()
    return deliveries.map(delivery => {
      if (delivery.key !== undefined && !keys.remember(delivery.key, now)) return 'duplicate'
      insertDelivery(db, { ...delivery, receivedAt: now })
      return 'accepted'
    })
  })
}

export function insertDelivery(db: Database, delivery: Omit<InboxItem, 'id'>): void {
  db.prepare('INSERT INTO inbox (key, event, instance, source, received_at, body) VALUES (?, ?, ?, ?, ?, ?)').run(
    ...[...columnsOf(delivery), delivery.body],
  )
}

/** Tells of a delivery whether it is still to be processed. */
function stillWaits(db: Database): (id: number) => boolean {
  const checkpoint = readCheckpoint(db)
  return id =>
    id > 0 ? !isProcessed(checkpoint, id) : db.prepare('SELECT 1 FROM inbox WHERE id = ?').get(-id) !== undefined
}

/** Only reads: what is held is known in memory (`leases.ts`). */
function lease(
  { db, leases, wal }: Waiting,
  note: ReadingNote,
  token: string,
  { limit, maxBytes, holdMs }: { limit: number; maxBytes: number; holdMs: number },
): InboxItem[] {
  const at = db.elapsed()
  const isFree = (id: number): boolean => leases.heldUntil(id) <= at
  const items: InboxItem[] = []
  let bytes = 0
  const take = (from: Iterable<InboxItem>): void => {
    if (items.length >= limit || bytes >= maxBytes) return
    for (const item of from) {
      const deaths = note.deaths(item.id)
      const isAlone = deaths !== undefined || item.body.length >= readAlone
      if (!isAlone || items.length === 0) {
        leases.hold(item.id, token, at + holdMs)
        items.push(deaths === undefined || deaths === 0 ? item : { ...item, deaths })
      }
      bytes += isAlone ? Infinity : item.body.length
      if (items.length >= limit || bytes >= maxBytes) return
    }
  }
  take(waitingRows(db, limit + leases.size, isFree))
  if (wal !== undefined) take(wal.waiting(isFree))
  return items
}

/** Deliveries of one transaction: some MiB. */
const movedAtOnce = 64

/**
 * Moves what waits in the WAL into the table, and its keys to the others. Throws StoreError where some of it is in files that are
 * away: nobody writes the WAL who could tell whether they are gone.
 */
export function moveIntoTable({ db, keys, wal }: Waiting): void {
  let items: InboxItem[] = []
  const move = (): void => {
    db.transaction(() => {
      for (const item of items) insertDelivery(db, item)
      wal?.noteProcessed(items.map(({ id }) => id))
    })
    items = []
  }
  for (const item of wal?.waiting(() => false) ?? []) if (items.push(item) === movedAtOnce) move()
  if (items.length > 0) move()
  db.transaction(() => keys.joinAll(db.now()))
  const { waiting } = wal?.state() ?? { waiting: 0 }
  if (waiting === 0) return
  throw new StoreError(
    `The write-ahead log beside the store cannot be read to its end: ${waiting} deliveries wait in it.`,
    'See whether all of its files are there, and try again. Where they are gone for good, the daemon passes over what was in them.',
  )
}

function* waitingRows(db: Database, limit: number, isFree: (id: number) => boolean): Generator<InboxItem> {
  const ids = db.prepare('SELECT id FROM inbox ORDER BY id LIMIT ?').all(limit) as { id: number }[]
  for (const { id } of ids) {
    const item = isFree(-id) ? rowOf(db, -id) : undefined
    if (item !== undefined) yield item
  }
}

function rowOf(db: Database, id: number): InboxItem | undefined {
  const row = db.prepare('SELECT * FROM inbox WHERE id = ?').get(-id) as Row | undefined
  return row && { ...itemOf(row), id }
}

/** Within a transaction. */
export function erase({ db, leases, wal }: Waiting, ids: readonly number[]): void {
  for (const id of ids) if (id < 0) db.prepare('DELETE FROM inbox WHERE id = ?').run(-id)
  const ofWal = ids.filter(id => id > 0)
  if (ofWal.length > 0) wal?.noteProcessed(ofWal)
  db.afterCommit(() => {
    // Bodies may hold secrets.
    if (ofWal.length < ids.length) db.scrub()
    for (const id of ids) leases.forget(id)
  })
}

function requeue(db: Database, which: string, ...values: readonly (number | string)[]): number {
  // Keys stay free: what is retried must not be refused as a duplicate of itself.
  // Within the database: together they may be many times larger than the memory.
  const columns = 'key, event, instance, source, received_at, body'
  db.prepare(`INSERT INTO inbox (${columns}) SELECT ${columns} FROM quarantined_deliveries WHERE ${which}`).run(
    ...values,
  )
  return Number(db.prepare(`DELETE FROM quarantined_deliveries WHERE ${which}`).run(...values).changes)
}

function state(db: Database, beside: WalState): InboxState {
  const table = db
    .prepare(
      'SELECT count(*) AS waiting, coalesce(sum(length(body)), 0) AS bytes, min(received_at) AS oldest FROM inbox',
    )
    .get() as { waiting: number; bytes: number; oldest: number | null }
  const kept = db.prepare('SELECT count(*) AS kept FROM quarantined_deliveries').get() as { kept: number }
  const times = [table.oldest, beside.oldest].filter(time => typeof time === 'number')
  return {
    waiting: table.waiting + beside.waiting,
    waitingBytes: table.bytes + beside.bytes,
    oldest: times.length === 0 ? undefined : Math.min(...times),
    quarantined: kept.kept,
  }
}

function columnsOf({
  key,
  event,
  instance,
  source,
  receivedAt,
}: Omit<InboxItem, 'id' | 'body'>): (string | number | null)[] {
  return [key ?? null, event, instance ?? null, source, receivedAt]
}
