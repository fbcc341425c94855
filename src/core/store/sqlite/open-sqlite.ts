// The embedded store: one SQLite file on one connection. Opened by the process that serves it, or shared by commands, which get only the
// operations that they may use.
import { closeSync, fsyncSync, openSync } from 'node:fs'
import path from 'node:path'
import { isUpToDate, openOwnDatabase, openSharedDatabase, type Database } from './database.ts'
import { sqliteOutbox } from './outbox.ts'
import { giveBackLeases } from './leases.ts'
import { lockForServing } from './serve-lock.ts'
import { makeFolder } from './private-place.ts'
import { sqliteStatements, execute, withinOf } from './statements.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { operations } from '../sql/operations.ts'
import { readsOn } from '../read-models/reads.ts'
import { storeFile, placeFault } from './store-file.ts'
import { pruneRuns, pruneStatements } from '../sql/pruning.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'
import type { Pruning } from '../ports/pruning.ts'

// Pruning on SQLite: small transactions, and free pages returned to the file system.

/** 2 MiB: some milliseconds. */
const pagesPerStep = 128

function sqlitePruning(db: Database, fullness: () => number): Pruning {
  const sql = sqliteStatements(db)
  const shared = pruneStatements(sql)
  return {
    ...shared,
    runs: async (before, limit, from) =>
      db.transaction(() => execute(db, pruneRuns(before, limit, from, withinOf(db)))),
    fullness: async () => fullness(),
    giveBack: async () => db.giveBack(pagesPerStep),
  }
}

/**
 * Opens the file as its only server, until it is closed; creates or migrates it. The lock is taken before anything is opened for writing.
 * `:memory:` has no files. Throws StoreError with a remedy; a file that another process serves is not touched.
 */
export function openSqlite(file: string, options: StoreOptions): Store {
  if (file === ':memory:') return ownStore(openOwnDatabase(file, options), options)
  const { real, lock } = lockedFile(file)
  let db: Database | undefined
  try {
    db = openOwnDatabase(real, options)
    syncCommits(`${real}-wal`)
    const store = ownStore(db, options, `${real}-sending`)
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
 * Opens the file while another process may be serving it. Creates or migrates it only if no process serves it. Throws StoreError with a
 * remedy.
 */
export function openSqliteShared(file: string, options: StoreOptions): SharedStore {
  const real = storeFile(file)
  if (!isUpToDate(real, options.parts ?? [])) {
    const { lock } = lockedFile(real)
    try {
      openOwnDatabase(real, options).close()
    } finally {
      lock.release()
    }
  }
  const db = openSharedDatabase(real, options)
  return { ...rooms(db, options), close: async () => db.close() }
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

function ownStore(db: Database, options: StoreOptions, sending?: string): Store {
  const store = rooms(db, options, sending)
  return {
    ...store,
    isInPlace: () => db.isInPlace(),
    proveWritable: async () => {
      db.proveInPlace()
      await store.proveWritable()
    },
    reclaim: async () => {
      const queues = (options.parts ?? []).flatMap(one => one.queues ?? [])
      db.transaction(() => giveBackLeases(db, queues))
    },
    close: async () => db.close(),
  }
}

/** The part of the store that is the same for its server and for commands. `sending`: the file of the note of leased exports. */
function rooms(db: Database, options: StoreOptions, sending?: string) {
  const sql = sqliteStatements(db)
  const shared = operations(sql, options)
  const outbox = sqliteOutbox(db, sending)
  return {
    ...shared,
    // Some milliseconds, so that the thread can do other work; docs/internals/performance.md has other sizes.
    runsPerTransaction: 32,
    groupsAtOnce: 1,
    runs: sqliteRuns(db),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories, shared.parts),
    pruning: sqlitePruning(db, () => db.size() / options.maxSize),
    tables: sqliteTables(db),
    clockWasAhead: async () => db.wasAhead(),
    isFull: async () => db.size() >= options.maxSize,
    proveWritable: async () => proveWritable(db),
  }
}

/**
 * A killed process may have written a commit without its sync. Nobody was answered because of it, but from now on others are: a sender that sends again
 * gets "duplicate".
 */
function syncCommits(wal: string): void {
  const descriptor = openSync(wal, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
