// The inbox on SQLite: deliveries of the ingress are read from their file beside the store (`deliveries/`); all others (redelivery, retries) are
// in a table. Ids of the table are negated, so that both kinds have distinct ids: 5 is the fifth delivery of the ingress, -5 the row 5.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { deliveryColumns, deliveryValues, inboxReads } from '../sql/inbox.ts'
import { insertDelivery, rowOf, waitingRows } from './inbox-rows.ts'
import { sqliteStatements } from './statements.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { AcceptedDeliveries } from './deliveries/reader.ts'
import type { DeliveryState } from './deliveries/begin.ts'
import type { Database } from './database.ts'
import { isProcessed } from './deliveries/checkpoint.ts'
import { openReadingNote, type ReadingNote } from './reading-note.ts'
import { readCheckpoint } from './deliveries/progress.ts'
import {
  readAlone,
  type Delivery,
  type Inbox,
  type InboxItem,
  type PutOutcome,
  type SharedInbox,
} from '../ports/inbox.ts'
import { StoreError } from '../../lib/fault.ts'
import type { Leases } from './leases.ts'
import type { Value } from '../sql/statements.ts'

/** The parts of the inbox. */
export interface Waiting {
  readonly db: Database
  readonly leases: Leases
  readonly keys: DeliveryKeys
  /** None for a store in memory. */
  readonly accepted: AcceptedDeliveries | undefined
}

interface SqliteInboxOptions {
  /** Bytes of the store. */
  readonly size: () => number
  readonly maxSize: number
  readonly accepted: () => DeliveryState
}

/** For the process that serves the store. `noteFile`: see `reading-note.ts`; undefined for a store in memory. */
export function sqliteInbox(waiting: Waiting, options: SqliteInboxOptions, noteFile: string | undefined): Inbox {
  const { db, leases, keys, accepted } = waiting
  let note: ReadingNote<number> | undefined
  /** Leases whose deliveries are being read. */
  let open = 0
  return {
    ...sqliteSharedInbox(waiting, options),
    lease: async (limit, maxBytes, leaseMs) => {
      const token = randomUUID()
      note ??= openReadingNote({ file: noteFile, id: z.number(), stillWaits: stillWaits(db) })
      const items = lease(waiting, note, token, { limit, maxBytes, leaseMs })
      if (items.length > 0) {
        note.begin(items.map(({ id }) => id))
        open += 1
      }
      return { token, items }
    },
    readingEnded: async () => {
      open -= 1
      if (open === 0) accepted?.giveBack()
      note?.end()
    },
    erase: async (token, ids) => {
      const own = ids.filter(id => leases.isOf(id, token))
      db.transaction(() => erase(waiting, own))
      return own.length
    },
    quarantine: async (token, id, why) => {
      if (!leases.isOf(id, token)) return false
      const item = id > 0 ? accepted?.item(id) : rowOf(db, id)
      if (item === undefined) return false
      db.transaction(() => {
        erase(waiting, [id])
        if (item.key !== undefined) keys.forget(item.key)
        db.prepare(
          `INSERT INTO quarantined_deliveries (${deliveryColumns}, reason, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(...[...deliveryValues(item), why.body, why.reason, why.version])
      })
      return true
    },
  }
}

/** For commands, while another process may be serving the store. */
export function sqliteSharedInbox(waiting: Waiting, options: SqliteInboxOptions): SharedInbox {
  const { db } = waiting
  const reads = inboxReads(sqliteStatements(db))
  return {
    ...reads,
    put: async deliveries => put(waiting, deliveries, options),
    retryQuarantined: async ids =>
      db.transaction(() =>
        ids === 'all' ? requeue(db, 'true') : ids.reduce((sum, id) => sum + requeue(db, 'id = ?1', [id]), 0),
      ),
    retryQuarantinedOfOtherVersions: async version => db.transaction(() => requeue(db, 'version <> ?1', [version])),
    state: async () => {
      const table = await reads.state()
      const accepted = options.accepted()
      const times = [table.oldest, accepted.oldest].filter(time => time !== undefined)
      return {
        ...table,
        waiting: table.waiting + accepted.waiting,
        waitingBytes: table.waitingBytes + accepted.bytes,
        oldest: times.length === 0 ? undefined : Math.min(...times),
      }
    },
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

/** True for a delivery that is not processed yet. */
function stillWaits(db: Database): (id: number) => boolean {
  const checkpoint = readCheckpoint(db)
  return id =>
    id > 0 ? !isProcessed(checkpoint, id) : db.prepare('SELECT 1 FROM inbox WHERE id = ?').get(-id) !== undefined
}

/** Only reads the database: leases are in memory (`leases.ts`). */
function lease(
  { db, leases, accepted }: Waiting,
  note: ReadingNote<number>,
  token: string,
  { limit, maxBytes, leaseMs }: { limit: number; maxBytes: number; leaseMs: number },
): InboxItem[] {
  const at = db.elapsed()
  const isFree = (id: number): boolean => leases.until(id) <= at
  const items: InboxItem[] = []
  let bytes = 0
  const take = (from: Iterable<InboxItem>): void => {
    if (items.length >= limit || bytes >= maxBytes) return
    for (const item of from) {
      const deaths = note.deaths(item.id)
      const isAlone = deaths !== undefined || item.body.length >= readAlone
      if (!isAlone || items.length === 0) {
        leases.lease(item.id, at + leaseMs, token)
        items.push(deaths === undefined || deaths === 0 ? item : { ...item, deaths })
      }
      bytes += isAlone ? Infinity : item.body.length
      if (items.length >= limit || bytes >= maxBytes) return
    }
  }
  accepted?.tryLeftBehind()
  take(waitingRows(db, limit + leases.size, isFree))
  if (accepted !== undefined) take(accepted.waiting(isFree))
  return items
}

/** Deliveries of one transaction: some MiB. */
const movedAtOnce = 64

/**
 * Moves pending deliveries from their file into the table. Throws StoreError if some are missing: they may come
 * back.
 */
export function moveIntoTable({ db, accepted }: Waiting): void {
  let items: InboxItem[] = []
  const move = (): void => {
    db.transaction(() => {
      for (const item of items) insertDelivery(db, item)
      accepted?.recordProcessed(items.map(({ id }) => id))
    })
    items = []
  }
  accepted?.tryLeftBehind()
  for (const item of accepted?.waiting(() => false, false) ?? []) if (items.push(item) === movedAtOnce) move()
  if (items.length > 0) move()
  const { waiting } = accepted?.state() ?? { waiting: 0 }
  if (waiting === 0) return
  throw new StoreError(
    `The accepted deliveries beside the store cannot be read completely: ${waiting} of them are pending.`,
    'Check that all of their files are present, and try again. If they are lost, the daemon skips their deliveries.',
  )
}

/** Within a transaction. */
export function erase({ db, leases, accepted }: Waiting, ids: readonly number[]): void {
  for (const id of ids) if (id < 0) db.prepare('DELETE FROM inbox WHERE id = ?').run(-id)
  const numbered = ids.filter(id => id > 0)
  if (numbered.length > 0) accepted?.recordProcessed(numbered)
  db.afterCommit(() => {
    // Bodies may contain secrets.
    if (numbered.length < ids.length) db.scrub()
    for (const id of ids) leases.forget(id)
  })
}

/** Within a transaction. */
function requeue(db: Database, which: string, values: readonly Value[] = []): number {
  // Without their keys: a retried delivery must not be a duplicate of itself. In SQL alone, because the bodies may not fit into memory.
  db.prepare(
    `INSERT INTO inbox (${deliveryColumns}) SELECT ${deliveryColumns} FROM quarantined_deliveries WHERE ${which}`,
  ).run(...values)
  return Number(db.prepare(`DELETE FROM quarantined_deliveries WHERE ${which}`).run(...values).changes)
}
