// The checkpoint of the write-ahead log (WAL) of deliveries in the database: how far the WAL is processed, and what of it was lost.
import { alsoProcessed, isProcessed, lastProcessed, waitingUpTo, type Checkpoint } from './wal/checkpoint.ts'
import { endOfWal, readWal, type Unread } from './wal/reader.ts'
import { headBytes } from './wal/record.ts'
import { addToCounter } from '../sql/leases.ts'
import { json, number, record } from '../sql/columns.ts'
import { listSegments } from './wal/segments.ts'
import { addUnread } from './unread-deliveries.ts'
import type { Database } from './database.ts'
import type { KeyOfWal } from './delivery-keys.ts'
import type { WalPositions } from './wal/positions.ts'
import type { Log } from '../../lib/log.ts'

/** What is not processed yet. */
export interface WalState {
  readonly waiting: number
  readonly bytes: number
  /** When the oldest was received. */
  readonly oldest: number | undefined
}

/** Consecutive deliveries. */
export interface Gap {
  readonly from: number
  readonly to: number
}

interface Unreadable {
  readonly gaps: readonly Gap[]
  readonly unread: readonly Unread[]
  /** The checkpoint that skips them. */
  readonly next: Checkpoint
  /** The numbers that they may have; those of `gaps` if it is missing. */
  readonly numbers?: readonly Gap[] | undefined
}

/** Counts and logs deliveries that cannot be read, so that their files are set aside once the others in them are processed. */
export function skipUnread(
  db: Database,
  { gaps, unread, next, numbers = gaps }: Unreadable,
  log: Log | undefined,
): void {
  const deliveries = gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  db.transaction(() => {
    writeCheckpoint(db, next)
    addUnread(db, numbers)
    db.prepare(addToCounter).run('pruned.unreadable_deliveries', deliveries)
  })
  const facts = { deliveries, from: gaps[0]?.from, to: gaps.at(-1)?.to, unread }
  log?.error(
    facts,
    'accepted deliveries cannot be read from the write-ahead log and are skipped; what is left of their files is kept beside the store and read again from time to time: check the disk, and that no file is missing',
  )
}

interface BeginWalOptions {
  readonly db: Database
  readonly folder: string
  readonly positions: WalPositions
  readonly log: Log | undefined
}

/** More deliveries than a WAL ever has. */
const farBehind = 1_000_000_000

/**
 * Sets where the WAL continues when a process begins to serve it: after everything that can be read, that the database knows of, or that may
 * have been in damaged places. No `seq` may be given twice: if an old file came back, its deliveries would be taken for others.
 */
export function beginWal({ db, folder, positions, log }: BeginWalOptions): void {
  let checkpoint = readCheckpoint(db)
  const processed = lastProcessed(checkpoint)
  const { position, unread } = endOfWal(folder)
  const files = listSegments(folder)
  const named = (files.at(-1)?.first ?? 1) - 1
  const { bytes } = position !== undefined && position.seq >= processed.seq ? position : processed
  let seq = Math.max(position?.seq ?? 0, processed.seq, named)
  const damaged = unread.filter(({ isTorn }) => !isTorn)
  if (damaged.length > 0) {
    const most = damaged.reduce((sum, one) => sum + Math.ceil(one.bytes / headBytes), 0)
    const numbers = [{ from: seq + 1, to: seq + most, bytes: 0 }]
    const next = alsoProcessed(checkpoint, numbers)
    // It is not known how many they are: most likely at least one for each damaged place.
    const gaps = damaged.map((_, at) => ({ from: seq + 1 + at, to: seq + 1 + at }))
    skipUnread(db, { gaps, unread, next, numbers }, log)
    checkpoint = next
    seq += most
  }
  if (files.length === 0 && seq > 0) {
    // Usually because everything was processed. But if a mount is missing, its files may come back, up to an unknown `seq`.
    const numbers = [{ from: seq + 1, to: seq + farBehind, bytes: 0 }]
    const next = alsoProcessed(checkpoint, numbers)
    db.transaction(() => {
      writeCheckpoint(db, next)
      addUnread(db, numbers)
    })
    checkpoint = next
    seq += farBehind
  }
  positions.moveEnd({ seq, bytes })
  positions.moveProcessed(checkpoint.to.seq)
}

/** For a process that only reads. */
export function walState(checkpoint: Checkpoint, folder: string): WalState {
  const { waiting, bytes } = waitingUpTo(checkpoint, endOfWal(folder).position ?? lastProcessed(checkpoint))
  if (waiting <= 0) return { waiting: 0, bytes: 0, oldest: undefined }
  const reader = readWal(folder, checkpoint.to.seq)
  try {
    for (let found = reader.peek(Infinity); found !== undefined; found = reader.peek(Infinity)) {
      if (!isProcessed(checkpoint, found.record.seq)) return { waiting, bytes, oldest: found.record.receivedAt }
      reader.pass()
    }
    return { waiting, bytes, oldest: undefined }
  } finally {
    reader.close()
  }
}

/** The keys of deliveries that are not processed; those that cannot be read are missing. */
export function unprocessedKeys(db: Database, folder: string): KeyOfWal[] {
  const checkpoint = readCheckpoint(db)
  const reader = readWal(folder, checkpoint.to.seq)
  const keys: KeyOfWal[] = []
  try {
    for (let found = reader.peek(Infinity); found !== undefined; found = reader.peek(Infinity)) {
      const { seq, receivedAt, delivery } = found.record
      if (delivery.key !== undefined && !isProcessed(checkpoint, seq))
        keys.push({ seq, key: delivery.key, seenAt: receivedAt })
      reader.pass()
    }
    return keys
  } finally {
    reader.close()
  }
}

const position = record({ seq: number('seq'), bytes: number('bytes') })
const beyond = json<readonly [from: number, to: number, bytes: number][]>('beyond')

export function readCheckpoint(db: Database): Checkpoint {
  const row = db.prepare('SELECT seq, bytes, beyond FROM wal_checkpoint').get() ?? {}
  const { seq, bytes } = position(row)
  // If it is damaged, the deliveries beyond are processed again, which changes nothing.
  const known =
    db.damaged.orNothing({ checkpoint: seq }, 'the deliveries after it are read again', () => beyond(row)) ?? []
  const stretches = known.map(([from, to, size]) => ({ from, to, bytes: size }))
  return { to: { seq, bytes }, beyond: new Map(stretches.map(one => [one.from, one])) }
}

export function writeCheckpoint(db: Database, { to, beyond: stretches }: Checkpoint): void {
  db.prepare('UPDATE wal_checkpoint SET seq = ?, bytes = ?, beyond = ?').run(
    ...[to.seq, to.bytes, JSON.stringify([...stretches.values()].map(one => [one.from, one.to, one.bytes]))],
  )
}
