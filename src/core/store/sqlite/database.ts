// A connection to an SQLite file: pragmas, statements, transactions.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder, makePrivateFile } from './private-place.ts'
import { alwaysInPlace, filesInPlace, type FilesInPlace } from './in-place.ts'
import { openFault, schemaFault } from './faults.ts'
import { watchForDamage, type Statement } from './damage.ts'
import { after, type Timer } from '../../../lib/timer.ts'
import type { Log } from '../../../lib/log.ts'
import type { StoreOptions } from '../ports/store.ts'
import type { StorePart } from '../ports/store-part.ts'
import { createDamagedRows, type DamagedRows } from '../sql/damaged-rows.ts'
import { sendsNothing, type EncodeMessages } from '../ports/outbox.ts'
import { followedClock } from '../sql/followed-clock.ts'
import { createTransactions, setBusyTimeout, type Transactions } from './transactions.ts'
import { isUpToDateWith, migrate, refuseUnknownSchema } from './migrate.ts'

type Surroundings = Pick<StoreOptions, 'now' | 'elapsed' | 'parts' | 'log' | 'onDamage'> &
  Partial<Pick<StoreOptions, 'encode'>>

export interface Database extends Transactions, FilesInPlace {
  /** A prepared statement, cached by its text. */
  readonly prepare: (sql: string) => Statement
  readonly now: () => number
  readonly wasAhead: () => number
  /** Monotonic ms, for state in memory. */
  readonly elapsed: () => number
  readonly damaged: DamagedRows
  readonly log: Log | undefined
  readonly encode: EncodeMessages
  /** Bytes of all pages in use. */
  readonly size: () => number
  /** Returns at most this many unused pages to the file system, unless they are likely to be reused soon. The result is the number of bytes. */
  readonly giveBack: (pages: number) => number
  /**
   * Removes erased data from the files, too, within some seconds. `secure_delete` overwrites it in SQLite's WAL only; the database
   * file and older pages of the WAL still have it until a checkpoint truncates the WAL.
   */
  readonly scrub: () => void
  readonly close: () => void
}

/**
 * How long a statement waits for another process to finish writing, ms: a command for the daemon; the daemon for a command, while it answers no request, not
 * even a health check.
 */
const busyTimeout = { command: 10_000, daemon: 500 }
/**
 * Unused pages that the file keeps, as a share of those in use. A store that prunes as much as it accepts reuses them, and returning them means to
 * move pages from the end of the file into their places.
 */
const keptFree = 0.25
/** How long erasures are collected before one checkpoint, ms. */
const scrubAfter = 1_000

/**
 * Opens or creates the file (folder 0700, file 0600) and migrates it. The caller must hold the serve lock, unless the database is in
 * memory. Throws StoreError with a remedy.
 */
export function openOwnDatabase(file: string, surroundings: Surroundings): Database {
  const inMemory = file === ':memory:'
  const connection = connect(file, () => {
    if (!inMemory) {
      makeFolder(path.dirname(file))
      makePrivateFile(file)
    }
    return new DatabaseSync(file)
  })
  const ready = setUp(file, connection, `${ofFile}${ofConnection}`, () => migrate(connection, surroundings.parts ?? []))
  return databaseOf(
    file,
    ready,
    busyTimeout.daemon,
    surroundings,
    inMemory ? alwaysInPlace : filesInPlace(file, surroundings.log),
  )
}

/** Opens an existing file with a supported schema; never creates or migrates it. Throws StoreError with a remedy. */
export function openSharedDatabase(file: string, surroundings: Surroundings): Database {
  const connection = connect(file, () => existing(file))
  const ready = setUp(file, connection, ofConnection, () => refuseUnknownSchema(connection))
  return databaseOf(file, ready, busyTimeout.command, surroundings, filesInPlace(file, surroundings.log))
}

/** True if the file exists and has the schemas of this version or newer ones. Throws StoreError with a remedy. */
export function isUpToDate(file: string, parts: readonly StorePart[]): boolean {
  if (!existsSync(file)) return false
  const connection = connect(file, () => existing(file))
  try {
    return opening(file, () => isUpToDateWith(connection, parts))
  } finally {
    connection.close()
  }
}

function existing(file: string): DatabaseSync {
  // SQLite would create a missing file.
  if (!existsSync(file)) throw new Error('there is no such file')
  return new DatabaseSync(file)
}

function connect(file: string, make: () => DatabaseSync): DatabaseSync {
  return opening(file, () => {
    const connection = make()
    setBusyTimeout(connection, busyTimeout.command)
    return connection
  })
}

function setUp(file: string, connection: DatabaseSync, pragmas: string, check: () => void): DatabaseSync {
  try {
    opening(file, () => {
      connection.exec(pragmas)
      check()
    })
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

function opening<T>(file: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw openFault(file, error)
  }
}

/**
 * SQLite prepares a statement anew for every run if its LIMIT is a parameter, to plan for that number of rows: the simplest one then
 * takes 3.2 µs in place of 0.4. It does not look at a sum.
 */
export function preparedOnce(sql: string): string {
  return sql.replace(/\bLIMIT (\?\d*)/g, 'LIMIT $1 + 0')
}

function databaseOf(
  file: string,
  connection: DatabaseSync,
  timeoutMs: number,
  { now, elapsed = now, encode = sendsNothing, log, onDamage }: Surroundings,
  files: FilesInPlace,
): Database {
  setBusyTimeout(connection, timeoutMs)
  const clock = followedClock()
  const { watched, watchedStatement } = watchForDamage(file, onDamage)
  const statements = new Map<string, Statement>()
  const prepared = (sql: string): Statement => {
    try {
      return watchedStatement(watched(() => connection.prepare(preparedOnce(sql))))
    } catch (error) {
      throw schemaFault(error) ?? error
    }
  }
  const prepare = (sql: string): Statement => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = prepared(sql)
      statements.set(sql, statement)
    }
    return statement
  }
  let scrubbing: Timer | undefined
  const scrub = (): void => {
    scrubbing ??= after(scrubAfter, scrubNow, scrubAgain)
  }
  const scrubAgain = (): void => {
    scrubbing = undefined
    scrub()
  }
  function scrubNow(): void {
    // A checkpoint would write pages of this store into what has its name now.
    files.proveInPlace()
    try {
      // Without waiting: while another connection reads, the WAL cannot be truncated.
      setBusyTimeout(connection, 0)
      const row = prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
      if (row?.busy !== 0) {
        scrubAgain()
        return
      }
      scrubbing = undefined
    } finally {
      setBusyTimeout(connection, timeoutMs)
    }
  }
  return {
    prepare,
    now: () => clock.follow(now()),
    wasAhead: () => clock.wasAhead(now()),
    elapsed,
    damaged: createDamagedRows(log),
    log,
    encode,
    size: () => {
      const page = Number(prepare('PRAGMA page_size').get()?.page_size)
      const pages = Number(prepare('PRAGMA page_count').get()?.page_count)
      const free = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      return page * (pages - free)
    },
    giveBack: pages => {
      const page = Number(prepare('PRAGMA page_size').get()?.page_size)
      const all = Number(prepare('PRAGMA page_count').get()?.page_count)
      const before = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      const kept = Math.floor((all - before) * keptFree)
      if (before <= kept) return 0
      files.proveInPlace()
      watched(() => connection.exec(`PRAGMA incremental_vacuum(${Math.min(pages, before - kept)})`))
      const left = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      // The file shrinks at a checkpoint. A passive one does not wait for readers.
      if (left <= kept) prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
      return page * (before - left)
    },
    ...createTransactions(connection, prepare, timeoutMs),
    ...files,
    scrub,
    close: () => {
      if (!connection.isOpen) return
      scrubbing?.stop()
      statements.clear()
      connection.close()
    },
  }
}

/**
 * Page size and auto_vacuum take effect on an empty file only, so they come before the first table. A transaction writes each page that it touches, and
 * most indexes are touched in one place for each project: with pages of 16 KiB twice as many bytes were written (decision 48).
 */
const ofFile = `
  PRAGMA page_size = 4096;
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
`

/** SQLite's WAL may grow to 32 MiB before a checkpoint, so that a page that changes often is written back once. */
const ofConnection = `
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -4096;
  PRAGMA wal_autocheckpoint = 8192;
  PRAGMA journal_size_limit = 67108864;
`
