// The writing side of the journal beside the SQLite file, for the thread of the door: it writes to no file that others write to,
// so nobody waits for anybody.
import { reasonOf, StoreError } from '../../lib/fault.ts'
import { doorKeys } from './delivery-keys.ts'
import { openSharedDatabase } from './database.ts'
import { limitReached } from '../maintenance/writable.ts'
import { journalFolder, usualRoom } from './wal/segments.ts'
import { storeFile } from './store-file.ts'
import { proveReadable } from './wal/stuck.ts'
import { openJournalWriter, type JournalWriter } from './wal/writer.ts'
import type { Delivery, InboxWriter, PutOutcome } from '../ports/inbox.ts'
import type { JournalMarks } from './wal/positions.ts'
import type { StoreOptions } from '../ports/store.ts'

/** For a file that this process serves, with the same marks. One at a time. Throws StoreError with a remedy. */
export function openSqliteDoor(file: string, options: StoreOptions, marks: JournalMarks): InboxWriter {
  const real = storeFile(file)
  const db = openSharedDatabase(real, options)
  const journal = writable(() => openJournalWriter(journalFolder(real), marks, { log: options.log }))
  const keys = doorKeys(db)

  /** What the disk must take for this to be ready: as much as it refused last. */
  let needed = usualRoom

  /** Remembers those that are accepted, by the number that each will have. */
  function outcomesOf(deliveries: readonly Delivery[], now: number): PutOutcome[] {
    let { seq } = marks.end
    return deliveries.map(({ key }) => {
      if (key !== undefined && keys.isKnown(key, now)) return 'duplicate'
      seq += 1
      if (key !== undefined) keys.accept(key, seq, now)
      return 'accepted'
    })
  }

  return {
    // They are appended one after the other.
    abreast: 1,
    put: async deliveries => {
      keys.forgetJoined(marks.understood)
      if (db.size() + journal.size >= options.maxSize) return deliveries.map(() => 'full')
      const now = db.now()
      const { seq } = marks.end
      const outcomes = outcomesOf(deliveries, now)
      const accepted = deliveries.filter((_, at) => outcomes[at] === 'accepted')
      try {
        if (accepted.length > 0) {
          await journal.append(accepted, now)
          needed = usualRoom
        }
        return outcomes
      } catch (error) {
        keys.takeBack(seq + 1)
        needed = Math.max(usualRoom, ...accepted.map(({ body }) => body.length))
        throw journalFault(error)
      }
    },
    proveWritable: async () => {
      proveReadable(marks)
      await journal.prove(needed).catch((error: unknown) => {
        throw journalFault(error)
      })
      if (db.size() + journal.size >= options.maxSize) throw limitReached()
    },
    close: async () => {
      await journal.close()
      db.close()
    },
  }
}

function writable(open: () => JournalWriter): JournalWriter {
  try {
    return open()
  } catch (error) {
    throw journalFault(error)
  }
}

export function journalFault(error: unknown): StoreError {
  const isFull = error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return new StoreError(
    `The store cannot be written: ${reasonOf(error)}.`,
    isFull ? 'Free disk space, or move the store to a larger disk.' : 'See whether its folder may be written to.',
    { cause: error },
  )
}
