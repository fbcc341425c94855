// Finds where the accepted deliveries continue when a process begins to serve the store, and what other processes see of them.
import { createDeliveryFile, listDeliveryFiles, openToRead, removeUnfinished, type DeliveryFile } from './files.ts'
import { openRaw } from './raw.ts'
import { isProcessed, lastProcessed, notProcessed, waitingUpTo, type Checkpoint } from './checkpoint.ts'
import { number, record, text, type Row } from '../../sql/columns.ts'
import { endOf, storedDelivery, type StoredDelivery } from './rows.ts'
import { readCheckpoint, unreadAmong } from './progress.ts'
import type { Database } from '../database.ts'
import type { DatabaseSync } from 'node:sqlite'
import type { Position } from './positions.ts'
import type { KeyOfDelivery } from '../delivery-keys.ts'
import type { LeftBehind, LeftBehindOptions } from './left-behind.ts'

/** What is not processed yet. */
export interface DeliveryState {
  readonly waiting: number
  readonly bytes: number
  /** When the oldest was received. */
  readonly oldest: number | undefined
}

interface BeginOptions extends Omit<LeftBehindOptions, 'keys' | 'log'> {
  readonly leftBehind: LeftBehind
}

/** More deliveries than a file ever has. */
const farBehind = 1_000_000_000

/**
 * Continues the newest file, or begins one if there is none, or if the newest is damaged or has deliveries that were given up. No `seq` may be used
 * twice: if an old file came back, or became readable, its deliveries would be mistaken for others.
 */
export function beginDeliveries({ db, folder, positions, progress, leftBehind }: BeginOptions): void {
  removeUnfinished(folder)
  const files = listDeliveryFiles(folder)
  const newest = files.at(-1)
  const found = newest && rangeOf(newest)
  const processed = lastProcessed(progress.checkpoint)
  // Only the file before an empty one shows which numbers were used.
  const isKnown = found !== undefined && (found.last.seq > 0 || files.length === 1)
  if (newest !== undefined && isKnown && unreadAmong(db, found.first, found.last.seq) === undefined) {
    const end = found.last.seq >= processed.seq ? found.last : processed
    positions.end = end
    positions.processed = progress.checkpoint.to.seq
    positions.file = { number: newest.number, begins: found.last.seq === 0 ? end.seq + 1 : found.first }
    leftBehind.takeIn()
    return
  }
  const file = createDeliveryFile(folder)
  positions.file = { number: file.number, begins: Number.MAX_SAFE_INTEGER }
  const isLost = !leftBehind.takeIn() && newest !== undefined && found === undefined
  const { seq } = lastProcessed(progress.checkpoint)
  if (seq > 0 || newest !== undefined) {
    // How many are lost after the last known one is unknown: at least one. The reader finds the missing ones before it.
    const isNoted = notProcessed(progress.checkpoint, 0, seq + 1).length > 0
    progress.giveUp({
      gaps: [{ from: seq + 1, to: seq + farBehind }],
      bytes: 0,
      deliveries: isLost && !isNoted ? 1 : 0,
    })
  }
  positions.end = lastProcessed(progress.checkpoint)
  positions.processed = progress.checkpoint.to.seq
  positions.file = { number: file.number, begins: positions.end.seq + 1 }
}

interface Range {
  readonly first: number
  /** 0 and 0 for an empty file. */
  readonly last: Position
}

/** Undefined for a file that is damaged, if that is visible without reading all of it. */
function rangeOf(file: DeliveryFile): Range | undefined {
  try {
    if (!isLogWhole(file)) return undefined
    return reading(file, connection => {
      const first = connection.prepare('SELECT seq FROM deliveries ORDER BY seq LIMIT 1').get()
      if (first === undefined) return { first: 0, last: { seq: 0, bytes: 0 } }
      const last = lastIn(connection, file)
      return last && { first: number('seq')(first), last: endOf(last) }
    })
  } catch {
    return undefined
  }
}

/** SQLite discards the part of its log that it cannot read, so this must be known before it opens the file. */
function isLogWhole(file: DeliveryFile): boolean {
  const raw = openRaw(file)
  raw.close()
  return raw.isWhole()
}

function reading<T>(file: DeliveryFile, read: (connection: DatabaseSync) => T): T {
  const connection = openToRead(file.path)
  try {
    return read(connection)
  } finally {
    connection.close()
  }
}

/** For a process that only reads, of the newest file. */
export function deliveryState(db: Database, folder: string): DeliveryState {
  const checkpoint = readCheckpoint(db)
  const newest = listDeliveryFiles(folder).at(-1)
  if (newest === undefined) return { ...waitingUpTo(checkpoint, lastProcessed(checkpoint)), oldest: undefined }
  return reading(newest, connection => {
    const end = lastIn(connection, newest)
    const { waiting, bytes } = waitingUpTo(checkpoint, end === undefined ? lastProcessed(checkpoint) : endOf(end))
    return { waiting, bytes, oldest: waiting > 0 ? oldestIn(connection, checkpoint) : undefined }
  })
}

/** Undefined if there is none, or if it is damaged. */
function lastIn(connection: DatabaseSync, { salt }: DeliveryFile): StoredDelivery | undefined {
  const row = connection.prepare('SELECT * FROM deliveries ORDER BY seq DESC LIMIT 1').get()
  return row && storedDelivery(row, salt)
}

const arrival = record({ seq: number('seq'), receivedAt: number('received_at') })

/** When the first that is not processed was received. */
export function oldestIn(connection: DatabaseSync, checkpoint: Checkpoint): number | undefined {
  const rows = connection.prepare('SELECT seq, received_at FROM deliveries WHERE seq > ? ORDER BY seq')
  for (const row of rows.iterate(checkpoint.to.seq)) {
    const { seq, receivedAt } = arrival(row)
    if (!isProcessed(checkpoint, seq)) return receivedAt
  }
  return undefined
}

const keyOf: (row: Row) => KeyOfDelivery = record({
  seq: number('seq'),
  key: text('key'),
  seenAt: number('received_at'),
})

/** The keys of deliveries that are not processed. */
export function unprocessedKeys(db: Database, connection: DatabaseSync): KeyOfDelivery[] {
  const checkpoint = readCheckpoint(db)
  return connection
    .prepare('SELECT seq, key, received_at FROM deliveries WHERE seq > ? AND key IS NOT NULL ORDER BY seq')
    .all(checkpoint.to.seq)
    .map(keyOf)
    .filter(({ seq }) => !isProcessed(checkpoint, seq))
}
