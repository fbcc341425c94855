// The writing side of the accepted deliveries, for the ingress thread, the only writer of their file. It never writes to the database of the main
// thread, so that the two never wait for each other. When `put` resolves, the deliveries are on the disk, in a file that still has its name.
//
// A file may be removed while it is open: by a person, a restore, a mount. Its content is copied through the open connection into a new one.
import { statSync } from 'node:fs'
import { ingressKeys } from '../delivery-keys.ts'
import { openSharedDatabase } from '../database.ts'
import { createTransactions } from '../transactions.ts'
import { storeFile } from '../store-file.ts'
import { limitReached } from '../../maintenance/writable.ts'
import { every } from '../../../lib/timer.ts'
import { proveReadable } from './stuck.ts'
import { deliveriesFault, isDamage, orFault } from './fault.ts'
import { reasonOf } from '../../../lib/fault.ts'
import { unprocessedKeys } from './begin.ts'
import { insertDelivery, valuesOf } from './rows.ts'
import * as files from './files.ts'
import type { DatabaseSync } from 'node:sqlite'
import type { Delivery, InboxWriter, PutOutcome } from '../../ports/inbox.ts'
import type { DeliveryFile } from './files.ts'
import type { DeliveryPositions } from './positions.ts'
import type { StoreOptions } from '../../ports/store.ts'

/** How often the file's existence is checked and processed deliveries are erased, ms. */
const tidyEvery = 1_000

interface OpenFile extends DeliveryFile {
  readonly connection: DatabaseSync
  readonly transaction: <T>(work: () => T) => T
  /** Of its files. */
  readonly inodes: readonly (bigint | undefined)[]
}

/** For a store that this process serves, with the same positions. Only one may be open. Throws StoreError with a remedy. */
export function openSqliteInboxWriter(file: string, options: StoreOptions, positions: DeliveryPositions): InboxWriter {
  const real = storeFile(file)
  const folder = files.deliveryFolder(real)
  const { log, maxSize } = options
  const db = openSharedDatabase(real, options)
  let current = orFault(() => openFile(files.currentFile(folder, positions.file.number)))
  const keys = ingressKeys(db, keysOf())
  /** Bytes that must be free for the disk to be ready: at least as many as it refused last. */
  let needed = files.defaultRoom
  let bytesAside = files.bytesOfFiles(folder, current.number)
  /** All up to this one are erased. */
  let erased = 0
  let isShrunk = false
  let isUntidy = false
  const tidying = every(tidyEvery, tidy, cannotTidy)

  function keysOf() {
    try {
      return unprocessedKeys(db, current.connection)
    } catch (error) {
      if (!isDamage(error)) throw error
      leave(error)
      return []
    }
  }

  /** Registers the keys of accepted deliveries, with the `seq` that each will have. */
  function outcomesOf(deliveries: readonly Delivery[], now: number): PutOutcome[] {
    let { seq } = positions.end
    return deliveries.map(({ key }) => {
      if (key !== undefined && keys.isKnown(key, now)) return 'duplicate'
      seq += 1
      if (key !== undefined) keys.accept(key, seq, now)
      return 'accepted'
    })
  }

  function append(deliveries: readonly Delivery[], receivedAt: number): void {
    try {
      write(deliveries, receivedAt)
    } catch (error) {
      if (!isDamage(error)) throw error
      leave(error)
      write(deliveries, receivedAt)
    }
  }

  function write(deliveries: readonly Delivery[], receivedAt: number): void {
    const { end } = positions
    const { connection, salt, transaction } = current
    let { seq, bytes } = end
    const upTo = erasable()
    transaction(() => {
      // Removes the rows of a failed attempt, which was not acknowledged: their numbers are reused.
      files.prepared(connection, 'DELETE FROM deliveries WHERE seq > ?').run(end.seq)
      const insert = files.prepared(connection, insertDelivery)
      for (const delivery of deliveries) {
        insert.run(...valuesOf({ seq: ++seq, bytesBefore: bytes, receivedAt, delivery }, salt))
        bytes += delivery.body.length
      }
      if (upTo > erased) files.prepared(connection, files.eraseUpTo).run(upTo)
    })
    erased = upTo
    isShrunk = false
    look()
    positions.end = { seq, bytes }
  }

  /** Erases nothing in a damaged file. `processed` is read first: it changes only after the damage is noted. */
  function erasable(): number {
    const { processed } = positions
    return positions.damaged === current.number ? erased : Math.max(erased, processed)
  }

  /** Copies the file into a new one if one of its names was removed or now belongs to another file. */
  function look(): void {
    const found = inodesOf(current)
    if (found.every((inode, at) => inode === current.inodes[at])) return
    const { connection, number, salt, path } = current
    const made = files.createDeliveryFile(folder, { number: number + 1, salt, fill: files.fillFrom(connection) })
    begin(made, positions.file.begins)
    log?.error(
      { file: path, again: made.path },
      'the file of accepted deliveries was removed; what was in it was written again',
    )
  }

  /** What is in it is read by the main thread. */
  function leave(error?: unknown): void {
    const { path } = current
    begin(files.createDeliveryFile(folder), positions.end.seq + 1)
    if (error !== undefined) log?.error({ file: path, reason: reasonOf(error) }, files.damagedFile)
  }

  function begin(made: DeliveryFile, begins: number): void {
    let next: OpenFile
    try {
      next = openFile(made)
    } catch (error) {
      // After a start the newest file is the current one.
      files.removeDeliveryFile(made)
      throw error
    }
    // The main thread reads the file once it is notified, and no connection may have it open then.
    current.connection.close()
    current = next
    erased = 0
    positions.file = { number: made.number, begins }
    bytesAside = files.bytesOfFiles(folder, made.number)
  }

  function tidy(): void {
    // Logged even if nothing asks for it.
    db.isInPlace()
    if (positions.damaged === current.number) leave()
    look()
    const upTo = erasable()
    if (upTo > erased) current.transaction(() => current.connection.prepare(files.eraseUpTo).run(upTo))
    erased = upTo
    // Freed pages still contain bodies of deliveries.
    if (!isShrunk && upTo >= positions.end.seq) isShrunk = files.shrink(current.connection)
    bytesAside = files.bytesOfFiles(folder, current.number)
    isUntidy = false
  }

  function cannotTidy(error: unknown): void {
    if (!isUntidy)
      log?.error({ reason: reasonOf(error) }, 'the file of accepted deliveries cannot be checked or erased')
    isUntidy = true
  }

  const size = (): number => db.size() + files.usedBytes(current.connection) + bytesAside

  return {
    // The file has one writer.
    concurrency: 1,
    put: async deliveries => {
      db.proveInPlace()
      keys.forgetProcessed(positions.processed)
      if (size() >= maxSize) return deliveries.map(() => 'full')
      const now = db.now()
      const { seq } = positions.end
      const outcomes = outcomesOf(deliveries, now)
      const accepted = deliveries.filter((_, at) => outcomes[at] === 'accepted')
      try {
        if (accepted.length > 0) {
          append(accepted, now)
          needed = files.defaultRoom
        }
        return outcomes
      } catch (error) {
        keys.takeBack(seq + 1)
        needed = Math.max(files.defaultRoom, ...accepted.map(({ body }) => body.length))
        throw deliveriesFault(error)
      }
    },
    isInPlace: () => db.isInPlace(),
    proveWritable: async () => {
      db.proveInPlace()
      proveReadable(positions)
      try {
        tidy()
        await files.proveFolder(folder, needed)
      } catch (error) {
        throw deliveriesFault(error)
      }
      if (size() >= maxSize) throw limitReached()
    },
    close: async () => {
      tidying.stop()
      try {
        // Once the connection is closed, a removed file cannot be written again.
        if (positions.processed < positions.end.seq) look()
      } catch (error) {
        cannotTidy(error)
      }
      current.connection.close()
      db.close()
    },
  }
}

function openFile(file: DeliveryFile): OpenFile {
  const connection = files.openToWrite(file)
  const { transaction } = createTransactions(connection, files.busyTimeout)
  return { ...file, connection, transaction, inodes: inodesOf(file) }
}

function inodesOf(file: DeliveryFile): (bigint | undefined)[] {
  return files.namesOf(file).map(name => inodeOf(name))
}

function inodeOf(name: string): bigint | undefined {
  try {
    return statSync(name, { bigint: true, throwIfNoEntry: false })?.ino
  } catch {
    return undefined
  }
}
