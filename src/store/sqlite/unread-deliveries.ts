// Deliveries of the write-ahead log (WAL) that could not be read when it was their turn, or whose file was away. The daemon goes on without them. Their
// files are set aside, not erased, and read again from time to time: what is readable by then is put into the inbox.
//
// The database knows their numbers, so that nothing else of these files is processed a second time.
import { unlinkSync } from 'node:fs'
import { reasonOf } from '../../lib/fault.ts'
import { insertDelivery } from './inbox-rows.ts'
import { listSegments, listSetAside, type MayHaveUnread, type Segment } from './wal/segments.ts'
import { number, record } from '../sql/columns.ts'
import { readWhole } from './wal/read-whole.ts'
import type { Database } from './database.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { Log } from '../../lib/log.ts'
import type { WalRecord } from './wal/record.ts'

/** Of so many stretches the numbers are known, the newest: a disk that fails everywhere must not fill the database. */
const maxStretches = 1_000
/** How long it waits between two attempts, ms. The pause is doubled as long as a file cannot be read. */
const pauses = { first: 10_000, longest: 3_600_000 }

/** Consecutive deliveries. */
interface Stretch {
  readonly from: number
  readonly to: number
}
const stretchOf = record({ from: number('first'), to: number('last') })

/** Within a transaction. */
export function addUnread(db: Database, stretches: readonly Stretch[]): void {
  const insert = db.prepare('INSERT OR REPLACE INTO unread_deliveries (first, last) VALUES (?, ?)')
  for (const { from, to } of stretches) if (from <= to) insert.run(from, to)
  db.prepare(
    'DELETE FROM unread_deliveries WHERE first < (SELECT first FROM unread_deliveries ORDER BY first DESC LIMIT 1 OFFSET ?)',
  ).run(maxStretches - 1)
}

const selectUnread = 'SELECT first, last FROM unread_deliveries WHERE first <= ? AND last >= ? LIMIT 1'

export function mayHaveUnread(db: Database): MayHaveUnread {
  return (first, last) => db.prepare(selectUnread).get(last, first) !== undefined
}

interface UnreadOptions {
  readonly db: Database
  readonly keys: DeliveryKeys
  readonly folder: string
  readonly log: Log | undefined
}

export interface UnreadDeliveries {
  /** Reads the files again that are set aside, if it is time. Never throws because of them. */
  tryAgain(): void
}

export function unreadDeliveries({ db, keys, folder, log }: UnreadOptions): UnreadDeliveries {
  let pause = pauses.first
  let dueAt = -Infinity
  let said: string | undefined

  function tryAgain(): void {
    const files = listSetAside(folder)
    const left = files.filter(file => !takeIn(file, [...files, ...listSegments(folder)])).map(({ file }) => file)
    pause = left.length === 0 ? pauses.first : Math.min(pauses.longest, pause * 2)
    if (left.length > 0 && left.join() !== said)
      log?.error(
        { files: left },
        'files with accepted deliveries that cannot be read are set aside, and are read again from time to time: check the disk, and delete these files to give the deliveries up',
      )
    said = left.join()
  }

  /** True if there is nothing left in it; then it is erased. */
  function takeIn(file: Segment, all: readonly Segment[]): boolean {
    try {
      const { records, isWhole } = readWhole(file, all)
      const found = db.transaction(() => putIntoInbox(records))
      if (found > 0)
        log?.warn(
          { deliveries: found, file: file.file },
          'accepted deliveries that could not be read before are readable and are processed now',
        )
      if (isWhole) unlinkSync(file.file)
      return isWhole
    } catch (error) {
      log?.debug({ file: file.file, reason: reasonOf(error) }, 'a file that is set aside cannot be read')
      return false
    }
  }

  /** Those whose numbers are known. Returns how many. */
  function putIntoInbox(records: readonly WalRecord[]): number {
    let found = 0
    for (const { seq, receivedAt, delivery } of records) {
      const row = db.prepare(selectUnread).get(seq, seq)
      if (row === undefined) continue
      const { from, to } = stretchOf(row)
      db.prepare('DELETE FROM unread_deliveries WHERE first = ?').run(from)
      addUnread(db, [
        { from, to: seq - 1 },
        { from: seq + 1, to },
      ])
      // It may have been sent again meanwhile.
      if (delivery.key !== undefined && !keys.remember(delivery.key, db.now())) continue
      insertDelivery(db, { ...delivery, receivedAt })
      found += 1
    }
    return found
  }

  return {
    tryAgain: () => {
      if (db.elapsed() < dueAt) return
      tryAgain()
      dueAt = db.elapsed() + pause
    },
  }
}
