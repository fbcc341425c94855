// A connection to an SQLite file, with pragmas, statements and transactions.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder, makePrivateFile } from './store-file.ts'
import { alwaysInPlace, filesInPlace, type FilesInPlace } from './in-place.ts'
import { openFault, schemaFault, watchForDamage, type Statement } from './faults.ts'
import type { Log } from '../../../lib/log.ts'
import type { StoreOptions } from '../ports/store.ts'
import type { StorePart } from '../ports/store-part.ts'
import { createDamagedRows, type DamagedRows } from '../sql/damaged-rows.ts'
import { sendsNothing, type EncodeMessages } from '../ports/outbox.ts'
import { createTransactions, setBusyTimeout, type Transact } from './transactions.ts'
import { isUpToDateWith, migrate, refuseUnknownSchema } from './migrate.ts'

type Surroundings = Pick<StoreOptions, 'now' | 'elapsed' | 'parts' | 'log' | 'onDamage'> &
  Partial<Pick<StoreOptions, 'encode'>>

export interface Database extends FilesInPlace {
  readonly transaction: Transact
  /** Returns a prepared statement, cached by its SQL. */
  readonly prepare: (sql: string) => Statement
  readonly now: () => number
  /** Returns monotonic ms, for state in memory. */
  readonly elapsed: () => number
  readonly damaged: DamagedRows
  readonly log: Log | undefined
  readonly encode: EncodeMessages
  /** Returns the size in bytes of all pages in use. */
  readonly size: () => number
  /** Returns at most `pages` unused pages to the file system, unless they are likely to be reused soon. Returns the number of freed bytes. */
  readonly giveBack: (pages: number) => number
  readonly close: () => void
}

/**
 * How long a statement waits for another process to finish writing, in ms: a command waits for the daemon, and the daemon for a command. While the
 * daemon waits, it serves no request, not even a health check.
 */
const busyTimeout = { command: 10_000, daemon: 500 }
/**
 * How many unused pages the file keeps, as a fraction of the pages in use. A store that prunes as much as it accepts reuses them. To return such
 * pages, SQLite has to move pages from the end of the file into their places.
 */
const keptFree = 0.25

/**
 * Opens or creates the SQLite file (folder 0700, file 0600) and migrates it. The caller must hold the serve lock, unless the database is in memory.
 * Throws a StoreError that says how to fix the problem.
 */
export function openOwnDatabase(file: string, surroundings: Surroundings): Database {
  const inMemory = file === ':memory:'
  const connection = opened(
    file,
    `${ofFile}${ofConnection}`,
    one => migrate(one, surroundings.parts ?? []),
    () => {
      if (inMemory) return
      makeFolder(path.dirname(file))
      makePrivateFile(file)
    },
  )
  const files = inMemory ? alwaysInPlace : filesInPlace(file, surroundings.log)
  return databaseOf(file, connection, busyTimeout.daemon, surroundings, files)
}

/**
 * Opens an existing SQLite file with a supported schema. Never creates or migrates the file. Throws a StoreError that says how to fix the problem.
 */
export function openSharedDatabase(file: string, surroundings: Surroundings): Database {
  const connection = opened(file, ofConnection, one => refuseUnknownSchema(one))
  return databaseOf(file, connection, busyTimeout.command, surroundings, filesInPlace(file, surroundings.log))
}

/** Whether the file exists and its schemas are those of this version or newer. Throws a StoreError that says how to fix the problem. */
export function isUpToDate(file: string, parts: readonly StorePart[]): boolean {
  if (!existsSync(file)) return false
  let isKnown = false
  opened(file, '', one => (isKnown = isUpToDateWith(one, parts))).close()
  return isKnown
}

/** Opens a connection. `make` creates or checks the file first, because SQLite would create a missing file with read access for other users. */
function opened(
  file: string,
  pragmas: string,
  check: (connection: DatabaseSync) => unknown,
  make = (): void => {
    if (!existsSync(file)) throw new Error('there is no such file')
  },
): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    make()
    connection = new DatabaseSync(file)
    setBusyTimeout(connection, busyTimeout.command)
    connection.exec(pragmas)
    check(connection)
    return connection
  } catch (error) {
    connection?.close()
    throw openFault(file, error)
  }
}

/**
 * Rewrites the LIMIT of a statement so that SQLite prepares the statement only once. If the LIMIT is a plain parameter, SQLite plans for its value
 * and prepares the statement again for every run: the simplest statement then takes 3.2 µs instead of 0.4 µs. SQLite does not do so if the LIMIT is a
 * sum.
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
  const watched = watchForDamage(file, onDamage)
  const statements = new Map<string, Statement>()
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    try {
      const prepared = watched(() => connection.prepare(preparedOnce(sql)))
      const statement: Statement = {
        all: (...values) => watched(() => prepared.all(...values)),
        get: (...values) => watched(() => prepared.get(...values)),
        run: (...values) => watched(() => prepared.run(...values)),
      }
      statements.set(sql, statement)
      return statement
    } catch (error) {
      throw schemaFault(error) ?? error
    }
  }
  const pragma = (name: string): number => Number(prepare(`PRAGMA ${name}`).get()?.[name])
  return {
    prepare,
    now,
    elapsed,
    damaged: createDamagedRows(log),
    log,
    encode,
    size: () => pragma('page_size') * (pragma('page_count') - pragma('freelist_count')),
    giveBack: pages => {
      const before = pragma('freelist_count')
      const kept = Math.floor((pragma('page_count') - before) * keptFree)
      if (before <= kept) return 0
      files.proveInPlace()
      watched(() => connection.exec(`PRAGMA incremental_vacuum(${Math.min(pages, before - kept)})`))
      const left = pragma('freelist_count')
      // The file shrinks at a checkpoint. A passive checkpoint does not wait for readers.
      if (left <= kept) prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
      return pragma('page_size') * (before - left)
    },
    transaction: createTransactions(connection, prepare, timeoutMs),
    ...files,
    close: () => {
      if (!connection.isOpen) return
      statements.clear()
      connection.close()
    },
  }
}

/**
 * Page size and auto_vacuum take effect only on an empty file, so they are set before the first table is created. SQLite writes whole pages, and a
 * transaction changes most indexes in one place per project. With pages of 16 KiB, twice as many bytes were written (decision 48).
 */
const ofFile = `
  PRAGMA page_size = 4096;
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
`

/** SQLite's WAL may grow to 32 MiB before a checkpoint, so that a page that changes often is written to the database file only once. */
const ofConnection = `
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -4096;
  PRAGMA wal_autocheckpoint = 8192;
  PRAGMA journal_size_limit = 67108864;
`
