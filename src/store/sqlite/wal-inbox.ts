// The reading side of the write-ahead log (WAL): hands out its deliveries, and records in the database, in the transaction that applies them,
// which ones are processed.
import { alsoProcessed, isProcessed, notProcessed, waitingUpTo } from './wal/checkpoint.ts'
import { beginReading, missedBy, type Missed, type Reading } from './wal/missed.ts'
import { endOf, type WalRecord } from './wal/record.ts'
import { readCheckpoint, skipUnread, writeCheckpoint, type Gap, type WalState } from './wal-checkpoint.ts'
import { noteStuck } from './wal/stuck.ts'
import { unreadDeliveries } from './unread-deliveries.ts'
import { readAgain, readWal } from './wal/reader.ts'
import type { Found, WalReader, Place, Unread } from './wal/reader.ts'
import type { InboxItem } from '../ports/inbox.ts'
import type { Database } from './database.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { WalPositions, Position } from './wal/positions.ts'
import type { Log } from '../../lib/log.ts'

export interface WalInbox {
  /** Pending deliveries in their order, first those that were handed out before and are `isFree` again. The caller stops when it has enough. */
  waiting(isFree: (id: number) => boolean): Generator<InboxItem>
  /** Within a transaction. */
  recordProcessed(ids: readonly number[]): void
  /** Puts into the table what could not be read before and is readable again. Called often, reads seldom. */
  tryUnread(): void
  /** A delivery that was handed out and is not processed yet. */
  item(id: number): InboxItem | undefined
  state(): WalState
  /** Nobody has an item any more: the memory of their bodies is given back. */
  giveBack(): void
  close(): void
}

/** A delivery that was handed out. */
interface Seen {
  readonly place: Place
  readonly key: string | undefined
  readonly bytes: number
  readonly receivedAt: number
  /** Set if it was not found again. */
  readonly missed?: Missed | undefined
}

interface WalInboxOptions {
  readonly db: Database
  readonly keys: DeliveryKeys
  readonly folder: string
  readonly positions: WalPositions
  readonly log: Log | undefined
}

export function walInbox({ db, keys, folder, positions, log }: WalInboxOptions): WalInbox {
  let checkpoint = readCheckpoint(db)
  let reader: WalReader | undefined
  const seen = new Map<number, Seen>()
  /** The last delivery that was read. */
  let last: Position = checkpoint.to
  /** Set if the delivery after `last` was not found. */
  let missed: Missed | undefined
  const setAside = unreadDeliveries({ db, keys, folder, log })

  /** The next delivery that is not processed, or before which some are missing. */
  function peek(): Found | undefined {
    reader ??= readWal(folder, last.seq)
    for (;;) {
      const found = reader.peek(positions.end.seq)
      if (found === undefined || !isProcessed(checkpoint, found.record.seq) || gapsBefore(found).length > 0)
        return found
      passOver(found)
    }
  }

  function passOver({ record }: Found): void {
    last = endOf(record)
    missed = undefined
    reader?.pass()
  }

  function gapsBefore({ record }: Found): Gap[] {
    return notProcessed(checkpoint, last.seq, record.seq)
  }

  /** Skips deliveries that will not be found any more. `bytes`: of all their bodies. */
  function giveUp(gaps: readonly Gap[], bytes: number, unread: readonly Unread[]): void {
    if (gaps.length === 0) return
    // Only the sum of their sizes is known.
    const stretches = gaps.map((gap, at) => ({ ...gap, bytes: at === 0 ? bytes : 0 }))
    const next = alsoProcessed(checkpoint, stretches)
    skipUnread(db, { gaps, unread, next }, log)
    checkpoint = next
    positions.moveProcessed(next.to.seq)
  }

  /** Bytes of the unprocessed deliveries after `from`, up to `to`. */
  function bytesBetween(from: Position, to: Position): number {
    const known = [...checkpoint.beyond.values()].filter(one => one.from > from.seq && one.to <= to.seq)
    return known.reduce((left, { bytes }) => left - bytes, to.bytes - from.bytes)
  }

  function* fresh(): Generator<InboxItem> {
    const reading = beginReading(positions, missed)
    if (reading === undefined) return
    // The missing delivery may be in a file that this reader has left already.
    if (missed !== undefined) readAnew()
    for (let found = peek(); found !== undefined; found = peek()) {
      const { record, place, unread } = found
      const { seq, bytesBefore, receivedAt, delivery } = record
      const before = { seq: seq - 1, bytes: bytesBefore }
      const gaps = gapsBefore(found)
      // A gap within a file is damage. A gap before it may be in a file that is away for the moment.
      if (gaps.some(({ from }) => from < place.segment.first)) {
        if (miss(reading, before, unread)) continue
        return
      }
      giveUp(gaps, bytesBetween(last, before), unread)
      passOver(found)
      if (isProcessed(checkpoint, seq)) continue
      seen.set(seq, { place, key: delivery.key, bytes: delivery.body.length, receivedAt })
      yield itemOf(record)
    }
    missTheEnd(reading)
  }

  function readAnew(): void {
    reader?.close()
    reader = undefined
  }

  /** If the last deliveries cannot be read, no later one shows the gap. */
  function missTheEnd(reading: Reading): void {
    const { end } = positions
    if (reader === undefined || last.seq >= end.seq || reader.peek(end.seq) !== undefined) return
    const unread = reader.instead(end.seq)
    if (unread !== undefined) miss(reading, end, unread)
  }

  /** The deliveries after `last`, up to `to`, are missing. True if those that were missing before are given up now. */
  function miss(reading: Reading, to: Position, unread: readonly Unread[]): boolean {
    if (missed === undefined || !reading.isLast) {
      missed = missedBy(reading, missed, positions)
      return false
    }
    const until = to.seq <= missed.end.seq ? to : missed.end
    giveUp(notProcessed(checkpoint, last.seq, until.seq + 1), bytesBetween(last, until), unread)
    last = until
    missed = undefined
    reader?.skipTo(until.seq)
    return true
  }

  function item(id: number): InboxItem | undefined {
    const known = seen.get(id)
    if (known === undefined) return undefined
    const record = readAgain(known.place, id)
    if (record === undefined) return findAgain(id, known)
    if (known.missed !== undefined) seen.set(id, { ...known, missed: undefined })
    return itemOf(record)
  }

  /** Its file may have been written again, be away for the moment, or be gone. */
  function findAgain(id: number, known: Seen): InboxItem | undefined {
    const reading = beginReading(positions, known.missed)
    if (reading === undefined) return undefined
    const search = readWal(folder, id - 1)
    try {
      const found = search.peek(id)
      if (found !== undefined) {
        seen.set(id, { ...known, place: found.place, missed: undefined })
        return itemOf(found.record)
      }
      const unread = search.instead(id)
      if (unread === undefined) return undefined
      if (!reading.isLast) {
        seen.set(id, { ...known, missed: missedBy(reading, known.missed, positions) })
        return undefined
      }
      giveUp([{ from: id, to: id }], known.bytes, unread)
      seen.delete(id)
      return undefined
    } finally {
      search.close()
    }
  }

  function* waiting(isFree: (id: number) => boolean): Generator<InboxItem> {
    for (const id of [...seen.keys()]) {
      if (!isFree(id)) continue
      const again = item(id)
      if (again !== undefined) yield again
    }
    yield* fresh()
  }

  return {
    waiting: isFree => recordingStuck(waiting(isFree), positions, () => last.seq < positions.end.seq),
    recordProcessed: ids => {
      const now = db.now()
      const finished = ids.flatMap(seq => {
        const known = seen.get(seq)
        if (known === undefined) return []
        if (known.key !== undefined) keys.add(seq, known.key, now)
        return [{ from: seq, to: seq, bytes: known.bytes }]
      })
      keys.joinSome(now)
      const next = alsoProcessed(checkpoint, finished)
      writeCheckpoint(db, next)
      db.afterCommit(() => {
        checkpoint = next
        for (const { from } of finished) seen.delete(from)
        positions.moveProcessed(next.to.seq)
      })
    },
    item,
    tryUnread: () => setAside.tryAgain(),
    state: () => {
      const [first] = seen.values()
      const { waiting: count, bytes } = waitingUpTo(checkpoint, positions.end)
      return { waiting: count, bytes, oldest: first?.receivedAt ?? oldest(peek) }
    },
    giveBack: () => reader?.giveBack(),
    close: () => reader?.close(),
  }
}

/** Undefined if the WAL cannot be read. */
function oldest(peek: () => Found | undefined): number | undefined {
  try {
    return peek()?.record.receivedAt
  } catch {
    return undefined
  }
}

/** Records since when deliveries are pending and none of them can be read, for the readiness of the store. */
function* recordingStuck(
  items: Generator<InboxItem>,
  positions: WalPositions,
  isWaiting: () => boolean,
): Generator<InboxItem> {
  try {
    let isAny = false
    for (const one of items) {
      isAny = true
      positions.noteStuck(0)
      yield one
    }
    if (isAny || !isWaiting()) positions.noteStuck(0)
    else noteStuck(positions)
  } catch (error) {
    noteStuck(positions)
    throw error
  }
}

function itemOf({ seq, receivedAt, delivery }: WalRecord): InboxItem {
  return { id: seq, receivedAt, ...delivery }
}
