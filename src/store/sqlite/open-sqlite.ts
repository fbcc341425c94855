// The embedded store: one SQLite file, every room's tables on one connection. Opened by the one process that serves it, or shared by
// others beside that one: what they may not do they do not get.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { isUpToDate, openOwnDatabase, openSharedDatabase, type Database } from './database.ts'
import { enrichmentQueue } from '../sql/enrichment-queue.ts'
import { giveBackLeases } from './given-back.ts'
import { sqliteDeliveryKeys, type DeliveryKeys } from './delivery-keys.ts'
import { createRecentChunks } from './recent-chunks.ts'
import { jobReads } from '../sql/job-reads.ts'
import { sqliteListings, type Listings } from './listings.ts'
import { sqliteOutbox } from './outbox.ts'
import { createLeases } from './leases.ts'
import { eraseProcessed, walBytes, walFolder, proveFolder, refuseOldLog, usualRoom } from './wal/segments.ts'
import { walFault } from './inbox-writer.ts'
import { beginWal, walState, readCheckpoint } from './wal-checkpoint.ts'
import { walInbox, type WalInbox } from './wal-inbox.ts'
import { walPositions, type WalPositions } from './wal/positions.ts'
import { lockForServing } from './serve-lock.ts'
import { makeFolder } from './folder.ts'
import { proveReadable } from './wal/stuck.ts'
import { moveIntoTable, sqliteInbox, sqliteSharedInbox, type Waiting } from './inbox.ts'
import { sqliteRepositories } from './key-value.ts'
import { sqlitePruning } from './pruning.ts'
import { sqliteStatements } from './statements.ts'
import { totals } from '../sql/totals.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { sqliteChanges } from './changes.ts'
import { sqliteDeployments } from './deployments.ts'
import { sqliteIncidents } from './incidents.ts'
import { sqliteTestMemory } from './test-memory.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { sqliteUnderWay } from './under-way.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import { broughtBack } from '../sql/too-far-ahead.ts'
import { sqliteViews } from './views.ts'
import { storeFile } from './store-file.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'

/**
 * Opens the file as its only server, until it is closed: makes and migrates it, works off its WAL and erases what is processed.
 * Nothing is opened for writing before the lock is held. `:memory:` has no file and no WAL. `positions`: shared with the ingress of the
 * same process. Throws StoreError with a remedy; what another process serves is left as it is.
 */
export function openSqlite(file: string, options: StoreOptions, positions = walPositions()): Store {
  if (file === ':memory:') return ownStore(openOwnDatabase(file, options), options)
  const { real, lock } = lockedFile(file)
  let db: Database | undefined
  try {
    const folder = walFolder(real)
    refuseOldLog(real)
    db = openOwnDatabase(real, options)
    const store = ownStore(db, options, { folder, positions, file: real })
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
    throw error
  }
}

/**
 * Opens the file beside whoever serves it, with no right to work off or to erase what the WAL holds. It is made or migrated only
 * while nobody serves it. Throws StoreError with a remedy.
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
  const folder = walFolder(real)
  const size = (): number => db.size() + walBytes(folder)
  const waiting = { db, leases: createLeases(), keys: sqliteDeliveryKeys(db), wal: undefined }
  return {
    ...rooms(waiting, options, size).store,
    inbox: sqliteSharedInbox(waiting, {
      ...{ size, maxSize: options.maxSize },
      walState: () => walState(readCheckpoint(db), folder),
    }),
    close: async () => db.close(),
  }
}

function lockedFile(file: string): { readonly real: string; readonly lock: ReturnType<typeof lockForServing> } {
  makeFolder(path.dirname(storeFile(file)))
  const real = storeFile(file)
  return { real, lock: lockForServing(real) }
}

interface OwnWal {
  readonly folder: string
  readonly positions: WalPositions
  /** The store's: beside it is noted what is being read, settled and encoded. */
  readonly file: string
}

function ownStore(db: Database, options: StoreOptions, own?: OwnWal): Store {
  const keys = sqliteDeliveryKeys(db)
  const wal = own && openWal(db, keys, own, options)
  const waiting = { db, leases: createLeases(), keys, wal }
  const size = (): number => db.size() + (own === undefined ? 0 : walBytes(own.folder))
  const { store, listings } = rooms(waiting, options, size)
  const erase = async (): Promise<void> => {
    if (own !== undefined) await eraseProcessed(own.folder, own.positions)
  }
  return {
    ...store,
    proveWritable: async () => {
      if (own !== undefined) proveReadable(own.positions)
      await store.proveWritable()
      // The file may have room within itself where the disk has none.
      if (own !== undefined && existsSync(own.folder)) await proveWal(own.folder)
    },
    inbox: sqliteInbox(
      waiting,
      {
        ...{ size, maxSize: options.maxSize },
        walState: () => wal?.state() ?? { waiting: 0, bytes: 0, oldest: undefined },
      },
      own && `${own.file}-reading`,
    ),
    underWay: sqliteUnderWay(db, own?.file),
    reclaim: async () => {
      db.transaction(() => {
        giveBackLeases(db)
        // Of a file that an earlier version pruned, or that was copied.
        db.prepare(takeInSql.moveBack).run()
      })
    },
    intoTables: async () => {
      moveIntoTable(waiting)
      listings.catchUp()
      await erase()
    },
    close: async () => {
      wal?.close()
      try {
        // Nobody writes the WAL any more: what is processed of it is not left behind.
        await erase()
      } finally {
        db.close()
      }
    },
  }
}

/** What everybody gets who opened it. */
function rooms(
  waiting: Waiting,
  options: StoreOptions,
  size: () => number,
): { readonly store: Omit<SharedStore, 'inbox' | 'close'>; readonly listings: Listings } {
  const { db } = waiting
  const sql = sqliteStatements(db)
  const recent = createRecentChunks(db.elapsed)
  const listings = sqliteListings(db, recent)
  const trends = sqliteTrendTaking(db, recent)
  const store = {
    // Some milliseconds, so that everything else on the thread has its turn (decision 37).
    runsPerTransaction: 32,
    runs: sqliteRuns({ waiting, recent, listings }),
    outbox: sqliteOutbox(db, recent),
    enrichment: enrichmentQueue(sql),
    jobReads: jobReads(sql),
    ...sqliteRepositories(db),
    pruning: sqlitePruning(db, recent, trends, () => size() / options.maxSize),
    tables: sqliteTables(db),
    totals: totals(sql),
    deployments: sqliteDeployments(db, recent),
    changes: sqliteChanges(db, recent),
    incidents: sqliteIncidents(db, recent),
    tests: sqliteTestMemory(db, options.testMemory),
    damaged: db.damaged,
    views: sqliteViews(db, trends, listings),
    now: async () => db.now(),
    bringBack: async () => bringBack(db),
    proveWritable: async () => proveWritable(db),
  }
  return { store, listings }
}

function openWal(db: Database, keys: DeliveryKeys, own: OwnWal, { log }: StoreOptions): WalInbox {
  beginWal({ db, ...own, log })
  return walInbox({ db, keys, ...own, log })
}

async function proveWal(folder: string): Promise<void> {
  try {
    await proveFolder(folder, usualRoom)
  } catch (error) {
    throw walFault(error)
  }
}

function bringBack(db: Database): number {
  const keys = 'UPDATE recent_delivery_keys SET seen_at = ?1 WHERE seen_at > ?1'
  const now = db.now()
  return db.transaction(() =>
    [...broughtBack, keys].reduce((rows, sql) => rows + Number(db.prepare(sql).run(now).changes), 0),
  )
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
