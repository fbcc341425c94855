// Delivery files that the ingress no longer writes: damaged ones, or ones that were restored by hand. Their readable deliveries are put into
// the inbox, once. An intact file is then removed. A damaged one is never removed: it is read again from time to time, because a disk may later read
// what it cannot read now.
import { reasonOf, StoreError } from '../../../lib/fault.ts'
import { insertDelivery } from '../inbox-rows.ts'
import { isProcessed, type Stretch } from './checkpoint.ts'
import { listDeliveryFiles, openToRead, removeDeliveryFile, type DeliveryFile } from './files.ts'
import { openRaw } from './raw.ts'
import { addUnread, unreadAmong, type Progress } from './progress.ts'
import { storedDelivery, type StoredDelivery } from './rows.ts'
import type { Database } from '../database.ts'
import type { DeliveryKeys } from '../delivery-keys.ts'
import type { DeliveryPositions } from './positions.ts'
import type { Log } from '../../../lib/log.ts'

/** The pause between two attempts, ms. It doubles while a file cannot be read. */
const pauses = { first: 10_000, longest: 3_600_000 }
/** Deliveries of one transaction: some MiB. */
const takenAtOnce = 64

export interface LeftBehindOptions {
  readonly db: Database
  readonly keys: DeliveryKeys
  readonly folder: string
  readonly positions: DeliveryPositions
  readonly progress: Progress
  readonly log: Log | undefined
}

export interface LeftBehind {
  /** Reads all of them now. True if none is left. Throws StoreError if the store cannot be written. */
  takeIn(): boolean
  /** The same, if the pause is over. */
  tryAgain(): void
}

export function filesLeftBehind({ db, keys, folder, positions, progress, log }: LeftBehindOptions): LeftBehind {
  let pause = pauses.first
  let dueAt = -Infinity
  let said: string | undefined

  function takeIn(): boolean {
    const files = listDeliveryFiles(folder).filter(({ number }) => number < positions.file.number)
    const left = files.filter(file => !takeInOne(file)).map(({ path }) => path)
    pause = left.length === 0 ? pauses.first : Math.min(pauses.longest, pause * 2)
    dueAt = db.elapsed() + pause
    if (left.length > 0 && left.join() !== said)
      log?.error(
        { files: left },
        'files with accepted deliveries that cannot be read are set aside, and are read again from time to time: check the disk, and delete these files to give the deliveries up',
      )
    said = left.join()
    return left.length === 0
  }

  /** True if nothing is left in it; then it is removed. */
  function takeInOne(file: DeliveryFile): boolean {
    try {
      if (!takeInPages(file) || !isSound(file)) return false
      removeDeliveryFile(file)
      return true
    } catch (error) {
      // The store could not be written.
      if (error instanceof StoreError) throw error
      log?.debug({ file: file.path, reason: reasonOf(error) }, 'a file that is set aside cannot be read')
      return false
    }
  }

  function takeInPages(file: DeliveryFile): boolean {
    const raw = openRaw(file)
    let batch: StoredDelivery[] = []
    let found = 0
    const put = (): void => {
      found += db.transaction(() => putIntoInbox(batch))
      batch = []
    }
    try {
      for (const one of raw.deliveries(isWanted)) if (batch.push(one) === takenAtOnce) put()
      if (batch.length > 0) put()
    } finally {
      raw.close()
    }
    if (found > 0)
      log?.warn(
        { deliveries: found, file: file.path },
        'accepted deliveries that could not be read before are readable and are processed now',
      )
    return raw.isWhole()
  }

  /** A number from `fileBegins` on belongs to a delivery of the current file. */
  function isWanted(seq: number): boolean {
    if (seq >= positions.file.begins) return false
    return !isProcessed(progress.checkpoint, seq) || unreadAmong(db, seq, seq) !== undefined
  }

  /** Returns how many of them had been given up. */
  function putIntoInbox(batch: readonly StoredDelivery[]): number {
    const now = db.now()
    const processed = new Map<number, Stretch>()
    let found = 0
    for (const { seq, receivedAt, delivery } of batch) {
      if (processed.has(seq) || !isWanted(seq)) continue
      if (isProcessed(progress.checkpoint, seq)) {
        forgetUnread(seq)
        // The sender may have repeated it meanwhile.
        if (delivery.key !== undefined && !keys.remember(delivery.key, now)) continue
        found += 1
      } else {
        processed.set(seq, { from: seq, to: seq, bytes: delivery.body.length })
        if (delivery.key !== undefined) keys.add(delivery.key, now)
      }
      insertDelivery(db, { ...delivery, receivedAt })
    }
    progress.advance([...processed.values()])
    return found
  }

  function forgetUnread(seq: number): void {
    const gap = unreadAmong(db, seq, seq)
    if (gap === undefined) return
    db.prepare('DELETE FROM unread_deliveries WHERE first = ?').run(gap.from)
    addUnread(db, [
      { from: gap.from, to: seq - 1 },
      { from: seq + 1, to: gap.to },
    ])
  }

  return {
    takeIn,
    tryAgain: () => {
      if (db.elapsed() >= dueAt) takeIn()
    },
  }
}

/** True if SQLite finds no fault and every row is intact. */
function isSound(file: DeliveryFile): boolean {
  const connection = openToRead(file.path)
  try {
    if (connection.prepare('PRAGMA quick_check').get()?.quick_check !== 'ok') return false
    for (const row of connection.prepare('SELECT * FROM deliveries').iterate())
      if (storedDelivery(row, file.salt) === undefined) return false
    return true
  } finally {
    connection.close()
  }
}
