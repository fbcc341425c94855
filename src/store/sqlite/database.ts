// A connection to a SQLite file: pragmas, migrations, transactions.
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
  /** A prepared statement, cached by its text. */
  readonly prepare: (sql: string) => StatementSync
  /** Runs `work` in one durable transaction. Not reentrant. */
  readonly transaction: <T>(work: () => T) => T
  /** Within a transaction: calls `then` after its commit, and never if it is rolled back. For state in memory that follows rows. */
  readonly afterCommit: (then: () => void) => void
  readonly now: () => number
  /** Monotonic ms, for what is in memory. */
  readonly elapsed: () => number
  readonly damaged: DamagedRows
  /** Bytes of all pages in use. */
  readonly size: () => number
  /** Returns at most so many unused pages to the file system; the number of bytes. */
  readonly giveBack: (pages: number) => number
  /**
   * Removes what was just erased from the files, too, within some seconds. `secure_delete` overwrites it in SQLite's WAL only; the database
   * file and older pages of the WAL still have it until a checkpoint truncates the WAL.
   */
  readonly scrub: () => void
  readonly close: () => void
}

/** How long a statement waits for another process (a command beside the daemon) to finish writing, ms. */
const busyTimeout = 10_000
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
  return databaseOf(
    setUp(file, connection, `${ofFile}${ofConnection}`, () => migrate(connection)),
    surroundings,
  )
}

/** Opens an existing file with a supported schema; never creates or migrates it. Throws StoreError with a remedy. */
export function openSharedDatabase(file: string, surroundings: Surroundings): Database {
  const connection = connect(file, () => existing(file))
  return databaseOf(
    setUp(file, connection, ofConnection, () => refuseUnknownSchema(connection)),
    surroundings,
  )
}

/** True if the file exists and has this version's schema or a newer one. Throws StoreError with a remedy. */
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
  // SQLite would create a missing file.
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
      // Without waiting: as long as another connection reads, the WAL cannot be truncated.
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
      // The file shrinks at a checkpoint; a passive one does not wait for readers.
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
 * Page size and auto_vacuum take effect on an empty file only, so they come before the first table. As rows have some KB, pages of 16 KiB
 * need half as many writes as those of 4 KiB.
 */
const ofFile = `
  PRAGMA page_size = 16384;
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

/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE. All others are about the file, the disk or its locks. */
const ofTheData: readonly number[] = [18, 19, 20, 25]
const full = 13

function writeFault(error: Error & { errcode: number }): Fault {
  // The upper bits are the extended error code.
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
