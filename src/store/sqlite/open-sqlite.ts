// The embedded store: one SQLite file, every room's tables on one connection. Opened by the one process that serves it, or shared by
// others beside that one: what they may not do they do not get.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { isUpToDate, openOwnDatabase, openSharedDatabase, type Database } from './database.ts'
import { reclaimAsking, sqliteAsking } from './enrichment-queue.ts'
import { sqliteDeliveryKeys, type DeliveryKeys } from './delivery-keys.ts'
import { createRecentChunks } from './recent-chunks.ts'
import { sqliteListings, type Listings } from './listings.ts'
import { sqliteExports } from './outbox.ts'
import { createLeases } from './leases.ts'
import { eraseUnderstood, journalBytes, journalFolder, proveFolder, refuseOldLog, usualRoom } from './wal/segments.ts'
import { journalFault } from './inbox-writer.ts'
import { beginJournal, journalState, readProgress } from './wal-checkpoint.ts'
import { journalInbox, type JournalInbox } from './wal-inbox.ts'
import { journalMarks, type JournalMarks } from './wal/positions.ts'
import { lockForServing } from './serve-lock.ts'
import { makeFolder } from './folder.ts'
import { proveReadable } from './wal/stuck.ts'
import { moveIntoTable, sqliteInbox, sqliteSharedInbox, type Waiting } from './inbox.ts'
import { sqliteNotes } from './notes.ts'
import { sqlitePruning } from './pruning.ts'
import { sqliteTotals } from './totals.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import { broughtBack } from '../sql/too-far-ahead.ts'
import { sqliteViews } from './views.ts'
import { storeFile } from './store-file.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'

/**
 * Opens the file as its only server, until it is closed: makes and migrates it, works off its journal and erases what is understood.
 * Nothing is opened for writing before the lock is held. `:memory:` has no file and no journal. `marks`: shared with the door of the
 * same process. Throws StoreError with a remedy; what another process serves is left as it is.
 */
export function openSqlite(file: string, options: StoreOptions, marks = journalMarks()): Store {
  if (file === ':memory:') return ownStore(openOwnDatabase(file, options), options)
  const { real, lock } = lockedFile(file)
  let db: Database | undefined
  try {
    const folder = journalFolder(real)
    refuseOldLog(real)
    db = openOwnDatabase(real, options)
    const store = ownStore(db, options, { folder, marks, noteFile: `${real}-reading` })
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
 * Opens the file beside whoever serves it, with no right to work off or to erase what the journal holds. It is made or migrated only
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
  const folder = journalFolder(real)
  const size = (): number => db.size() + journalBytes(folder)
  const waiting = { db, leases: createLeases(), keys: sqliteDeliveryKeys(db), journal: undefined }
  return {
    ...rooms(waiting, options, size).store,
    inbox: sqliteSharedInbox(waiting, {
      ...{ size, maxSize: options.maxSize },
      journalState: () => journalState(readProgress(db), folder),
    }),
    close: async () => db.close(),
  }
}

function lockedFile(file: string): { readonly real: string; readonly lock: ReturnType<typeof lockForServing> } {
  makeFolder(path.dirname(storeFile(file)))
  const real = storeFile(file)
  return { real, lock: lockForServing(real) }
}

interface OwnJournal {
  readonly folder: string
  readonly marks: JournalMarks
  /** Where is noted which deliveries are being read. */
  readonly noteFile: string
}

function ownStore(db: Database, options: StoreOptions, own?: OwnJournal): Store {
  const keys = sqliteDeliveryKeys(db)
  const journal = own && openJournal(db, keys, own, options)
  const waiting = { db, leases: createLeases(), keys, journal }
  const size = (): number => db.size() + (own === undefined ? 0 : journalBytes(own.folder))
  const { store, listings } = rooms(waiting, options, size)
  const erase = async (): Promise<void> => {
    if (own !== undefined) await eraseUnderstood(own.folder, own.marks)
  }
  return {
    ...store,
    proveWritable: async () => {
      if (own !== undefined) proveReadable(own.marks)
      await store.proveWritable()
      // The file may have room within itself where the disk has none.
      if (own !== undefined && existsSync(own.folder)) await proveJournal(own.folder)
    },
    inbox: sqliteInbox(
      waiting,
      {
        ...{ size, maxSize: options.maxSize },
        journalState: () => journal?.state() ?? { waiting: 0, bytes: 0, oldest: undefined },
      },
      own?.noteFile,
    ),
    reclaim: async () => {
      db.transaction(() => {
        // Leases in rows: of a file that an earlier version served, or that was copied from PostgreSQL.
        db.prepare(`UPDATE outbox SET due_at = ?, lease = NULL WHERE state = 'pending' AND lease IS NOT NULL`).run(
          db.now(),
        )
        reclaimAsking(db)
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
      journal?.close()
      try {
        // Nobody writes the journal any more: what is understood of it is not left behind.
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
  const recent = createRecentChunks(db.elapsed)
  const listings = sqliteListings(db, recent)
  const trends = sqliteTrendTaking(db, recent)
  const store = {
    // Some milliseconds, so that everything else on the thread has its turn; larger ones were tried, and are no faster.
    runsPerTransaction: 16,
    runs: sqliteRuns({ waiting, recent, listings }),
    outbox: sqliteExports(db, recent),
    enrichment: sqliteAsking(db),
    ...sqliteNotes(db),
    pruning: sqlitePruning(db, recent, trends, () => size() / options.maxSize),
    tables: sqliteTables(db),
    totals: sqliteTotals(db),
    damaged: db.damaged,
    views: sqliteViews(db, trends, listings),
    now: async () => db.now(),
    bringBack: async () => bringBack(db),
    proveWritable: async () => proveWritable(db),
  }
  return { store, listings }
}

function openJournal(db: Database, keys: DeliveryKeys, own: OwnJournal, { log }: StoreOptions): JournalInbox {
  beginJournal({ db, ...own, log })
  return journalInbox({ db, keys, ...own, log })
}

async function proveJournal(folder: string): Promise<void> {
  try {
    await proveFolder(folder, usualRoom)
  } catch (error) {
    throw journalFault(error)
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
