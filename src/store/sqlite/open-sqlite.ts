// The embedded store: one SQLite file on one connection, with the delivery file beside it. Opened by the process that
// serves it, or shared by commands, which get only the operations that they may use.
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import path from 'node:path'
import { isUpToDate, openOwnDatabase, openSharedDatabase, type Database } from './database.ts'
import { sqliteDeliveryKeys, type DeliveryKeys } from './delivery-keys.ts'
import { createRecentChunks } from './recent-chunks.ts'
import { sqliteOutbox } from './outbox.ts'
import { createLeases, giveBackLeases } from './leases.ts'
import {
  bytesOfFiles,
  defaultRoom,
  deliveryFolder,
  eraseProcessed,
  proveFolder,
  refuseOldLog,
} from './deliveries/files.ts'
import { acceptedDeliveries, type AcceptedDeliveries } from './deliveries/reader.ts'
import { beginDeliveries, deliveryState } from './deliveries/begin.ts'
import { deliveriesFault, orFault } from './deliveries/fault.ts'
import { deliveryPositions, type DeliveryPositions } from './deliveries/positions.ts'
import { deliveryProgress } from './deliveries/progress.ts'
import { filesLeftBehind } from './deliveries/left-behind.ts'
import { lockForServing } from './serve-lock.ts'
import { makeFolder } from './private-place.ts'
import { placeFault } from './place-fault.ts'
import { proveReadable } from './deliveries/stuck.ts'
import { moveIntoTable, sqliteInbox, sqliteSharedInbox, type Waiting } from './inbox.ts'
import { sqlitePruning } from './pruning.ts'
import { sqliteStatements } from './statements.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { sqliteUnderWay } from './under-way.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import { operations } from '../sql/operations.ts'
import { readsOn } from '../read-models/reads.ts'
import { storeFile } from './store-file.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'

/**
 * Opens the file as its only server, until it is closed; creates or migrates it. The lock is taken before anything is opened for writing.
 * `:memory:` has no files. `positions`: shared with the ingress of the same process. Throws StoreError with a remedy; a file that
 * another process serves is not touched.
 */
export function openSqlite(file: string, options: StoreOptions, positions = deliveryPositions()): Store {
  if (file === ':memory:') return ownStore(openOwnDatabase(file, options), options)
  const { real, lock } = lockedFile(file)
  let db: Database | undefined
  try {
    refuseOldLog(real)
    db = openOwnDatabase(real, options)
    const store = ownStore(db, options, { folder: deliveryFolder(real), positions, file: real })
    return {
      ...store,
      close: async () => {
        try {
          await store.close()
        } finally {
          lock.release()
        }
      },
    }
  } catch (error) {
    db?.close()
    lock.release()
    throw placeFault(real, error)
  }
}

/**
 * Opens the file while another process may be serving it, without access to the deliveries beside it. Creates or migrates it only if no
 * process serves it. Throws StoreError with a remedy.
 */
export function openSqliteShared(file: string, options: StoreOptions): SharedStore {
  const real = storeFile(file)
  if (!isUpToDate(real)) {
    const { lock } = lockedFile(real)
    try {
      openOwnDatabase(real, options).close()
    } finally {
      lock.release()
    }
  }
  const db = openSharedDatabase(real, options)
  const folder = deliveryFolder(real)
  const size = (): number => db.size() + bytesOfFiles(folder)
  const waiting = { db, leases: createLeases(), keys: sqliteDeliveryKeys(db), accepted: undefined }
  return {
    ...rooms(waiting, options, size, undefined),
    inbox: sqliteSharedInbox(waiting, {
      ...{ size, maxSize: options.maxSize },
      accepted: () => deliveryState(db, folder),
    }),
    close: async () => db.close(),
  }
}

function lockedFile(file: string): { readonly real: string; readonly lock: ReturnType<typeof lockForServing> } {
  const real = storeFile(file)
  try {
    makeFolder(path.dirname(real))
  } catch (error) {
    throw placeFault(real, error)
  }
  return { real, lock: lockForServing(real) }
}

interface OwnFiles {
  readonly folder: string
  readonly positions: DeliveryPositions
  /** The store's file: the notes of work in progress are beside it. */
  readonly file: string
}

function ownStore(db: Database, options: StoreOptions, own?: OwnFiles): Store {
  const keys = sqliteDeliveryKeys(db)
  const accepted = own && openDeliveries(db, keys, own, options)
  const waiting = { db, leases: createLeases(), keys, accepted }
  const size = (): number => db.size() + (accepted?.size() ?? 0)
  const store = rooms(waiting, options, size, own && `${own.file}-sending`)
  const erase = (): void => {
    if (own !== undefined) eraseProcessed(own.folder, own.positions)
  }
  return {
    ...store,
    isInPlace: () => db.isInPlace(),
    proveWritable: async () => {
      db.proveInPlace()
      if (own !== undefined) proveReadable(own.positions)
      await store.proveWritable()
      // A full disk may go unnoticed while the file has free pages.
      if (own !== undefined && existsSync(own.folder)) await proveDeliveries(own.folder)
    },
    inbox: sqliteInbox(
      waiting,
      {
        ...{ size, maxSize: options.maxSize },
        accepted: () => accepted?.state() ?? { waiting: 0, bytes: 0, oldest: undefined },
      },
      own && `${own.file}-reading`,
    ),
    underWay: sqliteUnderWay(db, own?.file),
    reclaim: async () => {
      db.transaction(() => {
        giveBackLeases(db)
        // A copied file may number its chunks from the beginning again.
        db.prepare(takeInSql.moveBack).run()
      })
    },
    intoTables: async () => {
      moveIntoTable(waiting)
      erase()
    },
    close: async () => {
      accepted?.close()
      try {
        // Nobody else writes the file any more.
        erase()
      } finally {
        db.close()
      }
    },
  }
}

/** The part of the store that is the same for its server and for commands. `sending`: the file of the outbox's note. */
function rooms(waiting: Waiting, options: StoreOptions, size: () => number, sending: string | undefined) {
  const { db } = waiting
  const recent = createRecentChunks(db.elapsed)
  const trends = sqliteTrendTaking(db, recent)
  const sql = sqliteStatements(db)
  const shared = operations(sql, options, trends)
  const outbox = sqliteOutbox(db, recent, sending)
  return {
    ...shared,
    // Some milliseconds, so that the thread can do other work; docs/internals/performance.md has other sizes.
    runsPerTransaction: 32,
    runs: sqliteRuns(waiting, recent),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories),
    pruning: sqlitePruning(db, recent, trends, () => size() / options.maxSize),
    tables: sqliteTables(db),
    clockWasAhead: async () => db.wasAhead(),
    proveWritable: async () => proveWritable(db),
  }
}

function openDeliveries(db: Database, keys: DeliveryKeys, own: OwnFiles, { log }: StoreOptions): AcceptedDeliveries {
  syncCommits(`${own.file}-wal`)
  const progress = deliveryProgress(db, own.positions, log)
  const leftBehind = filesLeftBehind({ db, keys, progress, log, ...own })
  orFault(() => beginDeliveries({ db, progress, leftBehind, ...own }))
  return acceptedDeliveries({ db, keys, progress, leftBehind, log, ...own })
}

/** A killed process may have written a commit without its sync: it is synced before deliveries are erased because of it. */
function syncCommits(sqliteWal: string): void {
  orFault(() => {
    const descriptor = openSync(sqliteWal, 'r+')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  })
}

async function proveDeliveries(folder: string): Promise<void> {
  try {
    await proveFolder(folder, defaultRoom)
  } catch (error) {
    throw deliveriesFault(error)
  }
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
