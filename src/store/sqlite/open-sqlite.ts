// The embedded store: one SQLite file on one connection, with the write-ahead log (WAL) of deliveries beside it. Opened by the process that
// serves it, or shared by commands, which get only what they may do.
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
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
import { removeAllSpent, walBytes, walFolder, proveFolder, refuseOldLog, usualRoom } from './wal/segments.ts'
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
import { changes } from '../sql/changes.ts'
import { deployments } from '../sql/deployments.ts'
import { incidents } from '../sql/incidents.ts'
import { testMemory } from '../sql/test-memory.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { sqliteUnderWay } from './under-way.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import { broughtBack } from '../sql/too-far-ahead.ts'
import { sqliteViews } from './views.ts'
import { mayHaveUnread } from './unread-deliveries.ts'
import { storeFile } from './store-file.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'

/**
 * Opens the file as its only server, until it is closed; creates or migrates it. The lock is taken before anything is opened for writing.
 * `:memory:` has no file and no WAL. `positions`: shared with the ingress of the same process. Throws StoreError with a remedy; a file that
 * another process serves is not touched.
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
 * Opens the file while another process may be serving it, without access to the WAL's deliveries. Creates or migrates it only if no
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
  const folder = walFolder(real)
  const size = (): number => db.size() + walBytes(folder)
  const waiting = { db, leases: createLeases(), keys: sqliteDeliveryKeys(db), wal: undefined }
  return {
    ...rooms(waiting, options, size, undefined).store,
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
  /** The store's file: the notes of work in progress are beside it. */
  readonly file: string
}

function ownStore(db: Database, options: StoreOptions, own?: OwnWal): Store {
  const keys = sqliteDeliveryKeys(db)
  const wal = own && openWal(db, keys, own, options)
  const waiting = { db, leases: createLeases(), keys, wal }
  const size = (): number => db.size() + (own === undefined ? 0 : walBytes(own.folder))
  const { store, listings } = rooms(waiting, options, size, own && `${own.file}-sending`)
  const erase = async (): Promise<void> => {
    if (own === undefined) return
    await removeAllSpent(own.folder, own.positions, mayHaveUnread(db))
  }
  return {
    ...store,
    proveWritable: async () => {
      if (own !== undefined) proveReadable(own.positions)
      await store.proveWritable()
      // A full disk may go unnoticed as long as the file has free pages.
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
        // For a file that an earlier version pruned, or that was copied.
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
        // The WAL has no writer any more, so processed deliveries can be erased.
        await erase()
      } finally {
        db.close()
      }
    },
  }
}

interface Rooms {
  readonly store: Omit<SharedStore, 'inbox' | 'close'>
  readonly listings: Listings
}

/** The part of the store that is the same for its server and for commands. `sending`: the file of the outbox's note. */
function rooms(waiting: Waiting, options: StoreOptions, size: () => number, sending: string | undefined): Rooms {
  const { db } = waiting
  const sql = sqliteStatements(db)
  const recent = createRecentChunks(db.elapsed)
  const listings = sqliteListings(db, recent)
  const trends = sqliteTrendTaking(db, recent)
  const store = {
    // Some milliseconds, so that other work on the thread gets its turn; docs/internals/performance.md has other sizes.
    runsPerTransaction: 32,
    runs: sqliteRuns({ waiting, recent, listings }),
    outbox: sqliteOutbox(db, recent, sending),
    enrichment: enrichmentQueue(sql),
    jobReads: jobReads(sql),
    ...sqliteRepositories(db),
    pruning: sqlitePruning(db, recent, trends, () => size() / options.maxSize),
    tables: sqliteTables(db),
    totals: totals(sql),
    deployments: deployments(sql),
    changes: changes(sql),
    incidents: incidents(sql),
    tests: testMemory(sql, options.testMemory),
    damaged: db.damaged,
    views: sqliteViews(db, trends, listings),
    now: async () => db.now(),
    clockWasAhead: async () => db.wasAhead(),
    bringBack: async () => bringBack(db),
    proveWritable: async () => proveWritable(db),
  }
  return { store, listings }
}

function openWal(db: Database, keys: DeliveryKeys, own: OwnWal, { log }: StoreOptions): WalInbox {
  syncCommits(`${own.file}-wal`)
  beginWal({ db, ...own, log })
  return walInbox({ db, keys, ...own, log })
}

/** A killed process may have written a commit without its sync: it is synced before deliveries are erased because of it. */
function syncCommits(sqliteWal: string): void {
  try {
    const descriptor = openSync(sqliteWal, 'r+')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw walFault(error)
  }
}

async function proveWal(folder: string): Promise<void> {
  try {
    await proveFolder(folder, usualRoom)
  } catch (error) {
    throw walFault(error)
  }
}

function bringBack(db: Database): number {
  const keys = ['recent_delivery_keys', 'gathered_delivery_keys'].map(
    table => `UPDATE ${table} SET seen_at = ?1 WHERE seen_at > ?1`,
  )
  const now = db.now()
  return db.transaction(() =>
    [...broughtBack, ...keys].reduce((rows, sql) => rows + Number(db.prepare(sql).run(now).changes), 0),
  )
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
