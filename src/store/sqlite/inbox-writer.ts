// The writing side of the write-ahead log (WAL), for the ingress thread. It never writes to the SQLite file, so that this thread and the main
// thread never wait for each other.
import { reasonOf, StoreError } from '../../lib/fault.ts'
import { ingressKeys } from './delivery-keys.ts'
import { openSharedDatabase } from './database.ts'
import { limitReached } from '../maintenance/writable.ts'
import { walFolder, usualRoom } from './wal/segments.ts'
import { storeFile } from './store-file.ts'
import { unprocessedKeys } from './wal-checkpoint.ts'
import { mayHaveUnread } from './unread-deliveries.ts'
import { proveReadable } from './wal/stuck.ts'
import { openWalWriter, type WalWriter } from './wal/writer.ts'
import type { Delivery, InboxWriter, PutOutcome } from '../ports/inbox.ts'
import type { WalPositions } from './wal/positions.ts'
import type { StoreOptions } from '../ports/store.ts'

/** For a file that this process serves, with the same positions. Only one may be open. Throws StoreError with a remedy. */
export function openSqliteInboxWriter(file: string, options: StoreOptions, positions: WalPositions): InboxWriter {
  const real = storeFile(file)
  const db = openSharedDatabase(real, options)
  const wal = writable(() =>
    openWalWriter(walFolder(real), positions, { log: options.log, mayHaveUnread: mayHaveUnread(db) }),
  )
  const keys = ingressKeys(db, unprocessedKeys(db, walFolder(real)))

  /** Bytes that the disk must have room for to be ready: at least as many as it refused last. */
  let needed = usualRoom

  /** Registers the keys of those that are accepted, with the `seq` that each will have. */
  function outcomesOf(deliveries: readonly Delivery[], now: number): PutOutcome[] {
    let { seq } = positions.end
    return deliveries.map(({ key }) => {
      if (key !== undefined && keys.isKnown(key, now)) return 'duplicate'
      seq += 1
      if (key !== undefined) keys.accept(key, seq, now)
      return 'accepted'
    })
  }

  return {
    // The WAL is appended to by one call at a time.
    abreast: 1,
    put: async deliveries => {
      keys.forgetJoined(positions.processed)
      if (db.size() + wal.size >= options.maxSize) return deliveries.map(() => 'full')
      const now = db.now()
      const { seq } = positions.end
      const outcomes = outcomesOf(deliveries, now)
      const accepted = deliveries.filter((_, at) => outcomes[at] === 'accepted')
      try {
        if (accepted.length > 0) {
          await wal.append(accepted, now)
          needed = usualRoom
        }
        return outcomes
      } catch (error) {
        keys.takeBack(seq + 1)
        needed = Math.max(usualRoom, ...accepted.map(({ body }) => body.length))
        throw walFault(error)
      }
    },
    proveWritable: async () => {
      proveReadable(positions)
      await wal.prove(needed).catch((error: unknown) => {
        throw walFault(error)
      })
      if (db.size() + wal.size >= options.maxSize) throw limitReached()
    },
    close: async () => {
      await wal.close()
      db.close()
    },
  }
}

function writable(open: () => WalWriter): WalWriter {
  try {
    return open()
  } catch (error) {
    throw walFault(error)
  }
}

export function walFault(error: unknown): StoreError {
  const isFull = error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return new StoreError(
    `The store cannot be written: ${reasonOf(error)}.`,
    isFull ? 'Free disk space, or move the store to a larger disk.' : 'Check that its folder is writable.',
    { cause: error },
  )
}
