// The reading side of the accepted deliveries: hands them out, and records in the database, in the transaction that applies them, which ones are
// processed. A file that is found damaged is left behind (`left-behind.ts`), and the ingress begins another one.
import { DamagedFile, isDamage } from './fault.ts'
import { endOf, storedDelivery, type StoredDelivery } from './rows.ts'
import { giveBack } from '../../../lib/give-back.ts'
import { isProcessed, notProcessed, waitingUpTo } from './checkpoint.ts'
import { beginNextFile, bytesOfFiles, currentFile, damagedFile, openToRead, prepared, usedBytes } from './files.ts'
import { noteStuck } from './stuck.ts'
import { reasonOf } from '../../../lib/fault.ts'
import type { DatabaseSync } from 'node:sqlite'
import type { DeliveryPositions, Position } from './positions.ts'
import { oldestIn, type DeliveryState } from './begin.ts'
import type { InboxItem } from '../../ports/inbox.ts'
import type { LeftBehind, LeftBehindOptions } from './left-behind.ts'

export interface AcceptedDeliveries {
  /**
   * Pending deliveries in their order, first those that were leased before and are `isFree` again. The caller stops when it has enough.
   * Those that are in no file are skipped, but only if there is an ingress, because a missing ingress may still have them.
   */
  waiting(isFree: (id: number) => boolean, hasIngress?: boolean): Generator<InboxItem>
  /** Within a transaction. */
  recordProcessed(ids: readonly number[]): void
  /** A delivery that was leased and is not processed yet. */
  item(id: number): InboxItem | undefined
  state(): DeliveryState
  /** Puts deliveries that are readable again into the table. Called often, reads seldom. */
  tryLeftBehind(): void
  /** Bytes of all files. */
  size(): number
  /** No item is in use any more: the memory of their bodies is released. */
  giveBack(): void
  close(): void
}

/** A leased delivery. */
interface Seen {
  readonly key: string | undefined
  readonly bytes: number
}

interface ReaderOptions extends LeftBehindOptions {
  readonly leftBehind: LeftBehind
}

/** The minimum time between two new files, ms: a disk that cannot be read must not cause a new file for each delivery. */
const leavesEvery = 10_000

export function acceptedDeliveries(options: ReaderOptions): AcceptedDeliveries {
  const { db, keys, folder, positions, progress, leftBehind, log } = options
  let { file } = positions
  let open: { readonly salt: number; readonly connection: DatabaseSync } | undefined
  const seen = new Map<number, Seen>()
  /** The last delivery that was read. */
  let last: Position = progress.checkpoint.to
  let bodies: Uint8Array[] = []
  let leaveDue = -Infinity

  /** After the ingress has begun another file: the unreadable rest of the previous one may be readable without SQLite. */
  function refresh(): void {
    const { file: next } = positions
    if (file.number === next.number) return
    close()
    leftBehind.takeIn()
    for (const id of seen.keys()) if (isProcessed(progress.checkpoint, id)) seen.delete(id)
    file = next
  }

  function current() {
    refresh()
    if (open === undefined) {
      const { path, salt } = currentFile(folder, file.number)
      open = { salt, connection: openToRead(path) }
    }
    return { ...open, ...file }
  }

  function close(): void {
    open?.connection.close()
    open = undefined
  }

  function* fresh(mayGiveUp: boolean): Generator<InboxItem> {
    while (last.seq < positions.end.seq) {
      const { number, salt, connection, begins } = current()
      const { end } = positions
      const rows = prepared(connection, 'SELECT * FROM deliveries WHERE seq > ? AND seq <= ? ORDER BY seq')
      for (const row of rows.iterate(last.seq, end.seq)) {
        const found = intact(storedDelivery(row, salt))
        if (!moveTo({ seq: found.seq - 1, bytes: found.bytesBefore }, begins, mayGiveUp)) return
        last = endOf(found)
        if (isProcessed(progress.checkpoint, found.seq)) continue
        yield handedOut(found)
      }
      if (positions.file.number === number && !moveTo(end, begins, mayGiveUp)) return
    }
  }

  /** There are no deliveries between `last` and this place in the current file, which begins with the delivery `begins`. */
  function moveTo(to: Position, begins: number, mayGiveUp: boolean): boolean {
    const gaps = notProcessed(progress.checkpoint, last.seq, to.seq + 1)
    if (gaps.length > 0) {
      if (gaps.some(gap => gap.to >= begins)) throw new DamagedFile('deliveries are missing in it')
      if (!mayGiveUp) return false
      progress.giveUp({ gaps, bytes: bytesUpTo(to) })
    }
    if (to.seq > last.seq) last = to
    return true
  }

  /** Bytes of the unprocessed deliveries after `last`. */
  function bytesUpTo(to: Position): number {
    const known = [...progress.checkpoint.beyond.values()].filter(one => one.from > last.seq && one.to <= to.seq)
    return known.reduce((left, { bytes }) => left - bytes, to.bytes - last.bytes)
  }

  function handedOut(found: StoredDelivery): InboxItem {
    const { seq, receivedAt, delivery } = found
    seen.set(seq, { key: delivery.key, bytes: delivery.body.length })
    bodies.push(delivery.body)
    return { id: seq, receivedAt, ...delivery }
  }

  function again(id: number): InboxItem | undefined {
    const { salt, connection } = current()
    if (!seen.has(id)) return undefined
    const row = connection.prepare('SELECT * FROM deliveries WHERE seq = ?').get(id)
    return handedOut(intact(row && storedDelivery(row, salt)))
  }

  function* waiting(isFree: (id: number) => boolean, mayGiveUp: boolean): Generator<InboxItem> {
    for (const id of [...seen.keys()]) {
      const item = isFree(id) ? again(id) : undefined
      if (item !== undefined) yield item
    }
    yield* fresh(mayGiveUp)
  }

  /** The ingress begins another file within a second. If there is no ingress, it is begun here: true. */
  function leave(error: unknown, hasIngress: boolean): boolean {
    if (db.elapsed() < leaveDue) return false
    leaveDue = db.elapsed() + leavesEvery
    log?.error({ file: file.number, reason: reasonOf(error) }, damagedFile)
    if (hasIngress) positions.damaged = file.number
    else beginNextFile(folder, positions)
    return !hasIngress
  }

  function* waitingInFiles(isFree: (id: number) => boolean, hasIngress: boolean): Generator<InboxItem> {
    for (let isLeft = true; isLeft;) {
      try {
        yield* waiting(isFree, hasIngress)
        return
      } catch (error) {
        if (!isDamage(error)) throw error
        isLeft = leave(error, hasIngress)
      }
    }
  }

  function oldest(): number | undefined {
    try {
      return oldestIn(current().connection, progress.checkpoint)
    } catch {
      return undefined
    }
  }

  return {
    waiting: (isFree, hasIngress = true) =>
      recordingStuck(waitingInFiles(isFree, hasIngress), positions, () => last.seq < positions.end.seq),
    recordProcessed: ids => {
      const now = db.now()
      const finished = ids.flatMap(seq => {
        const known = seen.get(seq)
        if (known === undefined) return []
        if (known.key !== undefined) keys.add(known.key, now)
        return [{ from: seq, to: seq, bytes: known.bytes }]
      })
      progress.advance(finished)
      db.afterCommit(() => {
        for (const { from } of finished) seen.delete(from)
      })
    },
    item: id => {
      try {
        return again(id)
      } catch (error) {
        if (!isDamage(error)) throw error
        leave(error, true)
        return undefined
      }
    },
    state: () => {
      const { waiting: count, bytes } = waitingUpTo(progress.checkpoint, positions.end)
      return { waiting: count, bytes, oldest: count > 0 ? oldest() : undefined }
    },
    tryLeftBehind: () => {
      refresh()
      leftBehind.tryAgain()
    },
    size: () =>
      open === undefined ? bytesOfFiles(folder) : usedBytes(open.connection) + bytesOfFiles(folder, file.number),
    giveBack: () => {
      for (const body of bodies) giveBack(body)
      bodies = []
    },
    close,
  }
}

function intact(found: StoredDelivery | undefined): StoredDelivery {
  if (found === undefined) throw new DamagedFile('a delivery in it is not as it was written')
  return found
}

/** Records since when deliveries are pending and none of them can be read, for the readiness of the store. */
function* recordingStuck(
  items: Generator<InboxItem>,
  positions: DeliveryPositions,
  isWaiting: () => boolean,
): Generator<InboxItem> {
  try {
    let isAny = false
    for (const one of items) {
      isAny = true
      positions.stuckSince = 0
      yield one
    }
    if (isAny || !isWaiting()) positions.stuckSince = 0
    else noteStuck(positions)
  } catch (error) {
    noteStuck(positions)
    throw error
  }
}
