// One connection to an SQLite file: its pragmas, its migrations, its transactions. SQL of the rooms is in the files beside.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makeFolder } from './folder.ts'
import { makePrivateFile } from './private-place.ts'
import { DataError, reasonOf, StoreError, type Fault } from '../../lib/fault.ts'
import { after, type Timer } from '../../lib/timer.ts'
import type { StoreOptions } from '../ports/store.ts'
import { createDamagedRows, type DamagedRows } from '../sql/stored-json.ts'
import { isOldSchema, leaveOldSchema } from '../sql/schema.ts'
import { sqliteMigrations } from './migrations.ts'

type Surroundings = Pick<StoreOptions, 'now' | 'elapsed' | 'log'>

export interface Database {
  /** A prepared statement, which is remembered for the next time. */
  readonly prepare: (sql: string) => StatementSync
  /** Runs `work` in one durable transaction: all of it, or nothing. Not reentrant. */
  readonly transaction: <T>(work: () => T) => T
  /** Within a transaction: calls `then` once it is committed, and never where it is rolled back. For what memory knows of the rows. */
  readonly afterCommit: (then: () => void) => void
  readonly now: () => number
  /** For what is held in memory: by a clock that nobody sets. */
  readonly elapsed: () => number
  /** Who reads rows one after the other passes damaged ones over. */
  readonly damaged: DamagedRows
  /** Bytes that hold something: pages in use times their size. */
  readonly size: () => number
  /** Returns at most so many unused pages to the file system; answers the bytes. */
  readonly giveBack: (pages: number) => number
  /**
   * What was just erased goes out of the files too, within some seconds: erased pages are overwritten in the log, while the file, and the
   * log's older pages, hold what was there before until the log is written back and begun anew.
   */
  readonly scrub: () => void
  readonly close: () => void
}

/** How long a statement waits for another process (a command beside the daemon) to finish writing, ms. */
const busyTimeout = 10_000
/** Between an erasure and the scrubbing of the files: one of those for many of these, ms. */
const scrubAfter = 1_000

/**
 * Opens or creates the file (folder 0700, file 0600) and brings it to this version's schema: only for who holds the serve lock, or
 * has the file in memory. Throws StoreError with a remedy.
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
  return databaseOf(
    setUp(file, connection, `${ofFile}${ofConnection}`, () => migrate(connection)),
    surroundings,
  )
}

/**
 * One more connection to a file that is there and of a schema that this version runs on; never makes or changes either. Throws
 * StoreError with a remedy.
 */
export function openSharedDatabase(file: string, surroundings: Surroundings): Database {
  const connection = connect(file, () => existing(file))
  return databaseOf(
    setUp(file, connection, ofConnection, () => refuseUnknownSchema(connection)),
    surroundings,
  )
}

/** Whether it is there, and of this version's schema or a newer one. Throws StoreError with a remedy. */
export function isUpToDate(file: string): boolean {
  if (!existsSync(file)) return false
  const connection = connect(file, () => existing(file))
  try {
    return opening(file, () => versionOf(connection) >= sqliteMigrations.length)
  } finally {
    connection.close()
  }
}

function existing(file: string): DatabaseSync {
  // A connection would make what is missing.
  if (!existsSync(file)) throw new Error('there is no such file')
  return new DatabaseSync(file)
}

function connect(file: string, make: () => DatabaseSync): DatabaseSync {
  return opening(file, () => {
    const connection = make()
    connection.exec(`PRAGMA busy_timeout = ${busyTimeout}`)
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
    if (error instanceof StoreError) throw error
    throw new StoreError(
      `The store ${file} cannot be opened: ${reasonOf(error)}.`,
      'Check that PIPESPAN_STORE_URL is a file in a folder that this user can write to.',
      { cause: error },
    )
  }
}

function databaseOf(connection: DatabaseSync, { now, elapsed = now, log }: Surroundings): Database {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = connection.prepare(sql)
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
    try {
      // Nobody is waited for: while another connection reads, the log cannot be begun anew.
      connection.exec('PRAGMA busy_timeout = 0')
      const row = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
      if (row?.busy !== 0) {
        scrubAgain()
        return
      }
      scrubbing = undefined
    } finally {
      connection.exec(`PRAGMA busy_timeout = ${busyTimeout}`)
    }
  }
  let thens: (() => void)[] | undefined
  const begin = connection.prepare('BEGIN IMMEDIATE')
  const commit = connection.prepare('COMMIT')
  return {
    prepare,
    now,
    elapsed,
    damaged: createDamagedRows(log),
    size: () => {
      const page = Number(prepare('PRAGMA page_size').get()?.page_size)
      const pages = Number(prepare('PRAGMA page_count').get()?.page_count)
      const free = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      return page * (pages - free)
    },
    giveBack: pages => {
      const page = Number(prepare('PRAGMA page_size').get()?.page_size)
      const before = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      if (before === 0) return 0
      connection.exec(`PRAGMA incremental_vacuum(${pages})`)
      const left = Number(prepare('PRAGMA freelist_count').get()?.freelist_count)
      // The file itself shrinks when the log is written back into it; this waits for nobody who still reads it.
      if (left === 0) connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
      return page * (before - left)
    },
    transaction: work => {
      const own: (() => void)[] = []
      const inTransaction = (): ReturnType<typeof work> => {
        try {
          begin.run()
          thens = own
          const result = work()
          commit.run()
          return result
        } catch (error) {
          if (connection.isTransaction) connection.exec('ROLLBACK')
          if (isSqliteError(error)) throw writeFault(error)
          throw error
        } finally {
          thens = undefined
        }
      }
      const result = inTransaction()
      for (const then of own) then()
      return result
    },
    afterCommit: then => {
      if (thens === undefined) throw new Error('There is no transaction to wait for.')
      thens.push(then)
    },
    scrub,
    close: () => {
      scrubbing?.stop()
      statements.clear()
      if (connection.isOpen) connection.close()
    },
  }
}

/**
 * The page size and auto_vacuum only take effect on an empty file, so they come before the first table. Rows are some KB: with pages
 * of 16 KiB half as many are written as with those of 4.
 */
const ofFile = `
  PRAGMA page_size = 16384;
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
`

/** The log may grow to 32 MiB before it is written back, so that pages that are written again soon are written back once. */
const ofConnection = `
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -16384;
  PRAGMA wal_autocheckpoint = 2048;
  PRAGMA journal_size_limit = 67108864;
`

function versionOf(connection: DatabaseSync): number {
  return Number(connection.prepare('PRAGMA user_version').get()?.user_version)
}

function refuseUnknownSchema(connection: DatabaseSync): void {
  if (connection.prepare(isOldSchema.sqlite).get() !== undefined) {
    throw new StoreError(
      'The store has a pre-release schema that this version cannot read.',
      leaveOldSchema('a new file in another folder, because the old deliveries stay beside the old file'),
    )
  }
  const version = versionOf(connection)
  const newest = sqliteMigrations.length
  if (version <= newest + 1) return
  throw new StoreError(
    `The store has schema ${version}; this version supports schemas up to ${newest + 1}.`,
    'Run the Pipespan version that wrote it, or a newer one.',
  )
}

function migrate(connection: DatabaseSync): void {
  const newest = sqliteMigrations.length
  refuseUnknownSchema(connection)
  if (versionOf(connection) === newest) return
  connection.exec('BEGIN IMMEDIATE')
  try {
    for (let step = versionOf(connection); step < newest; step += 1) {
      connection.exec(sqliteMigrations[step] ?? '')
      connection.exec(`PRAGMA user_version = ${step + 1}`)
    }
    connection.exec('COMMIT')
  } catch (error) {
    connection.exec('ROLLBACK')
    throw error
  }
}

function isSqliteError(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE. All else is about the file, the disk or who else holds it. */
const ofTheData: readonly number[] = [18, 19, 20, 25]
const full = 13

function writeFault(error: Error & { errcode: number }): Fault {
  // The upper bits say which kind of it.
  const code = error.errcode & 0xff
  if (ofTheData.includes(code)) {
    return new DataError(`The store cannot store this data: ${error.message}.`, 'Please report it.', { cause: error })
  }
  return new StoreError(
    `The store cannot be written: ${error.message}.`,
    code === full
      ? 'Free disk space, or move the store to a larger disk.'
      : 'Check whether another process has locked the file.',
    { cause: error },
  )
}
