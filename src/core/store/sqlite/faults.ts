// Converts SQLite errors into errors that say how to fix their cause: the data, the file, the disk, another process, or the schema.
import { DataError, reasonOf, StoreError, type Fault } from '../../../lib/fault.ts'
import { isOfTheSchema, otherSchema } from '../sql/schema-faults.ts'
import type { SQLInputValue, SQLOutputValue, StatementResultingChanges } from 'node:sqlite'

interface SqliteError extends Error {
  readonly errcode: number
}

export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/**
 * SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH and SQLITE_RANGE are caused by the data. All other errors are about the file, the disk or its
 * locks.
 */
const ofTheData: readonly number[] = [18, 19, 20, 25]
const busy = 5
const full = 13
/** SQLITE_CORRUPT and SQLITE_NOTADB report a damaged file. */
const damaged: readonly number[] = [11, 26]

/** Returns SQLite's primary error code, without the upper bits of an extended error code. */
function codeOf(error: unknown): number | undefined {
  return isSqliteError(error) ? error.errcode & 0xff : undefined
}

/** Whether another process is writing and did not finish within the timeout. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === busy
}

/** Returns the error to report for a damaged file. Undefined if the cause is another one. */
export function damageFault(file: string, error: unknown): StoreError | undefined {
  if (!damaged.includes(codeOf(error) ?? 0)) return undefined
  return new StoreError(
    `The store ${file} is damaged: ${reasonOf(error)}.`,
    'Restore a backup. Or move the file away, with its -wal and -shm files, and run `pipespan backfill --since` to read again what the platform still has.',
    { cause: error },
  )
}

export function writeFault(error: SqliteError): Fault {
  const code = codeOf(error)
  if (code !== undefined && ofTheData.includes(code)) {
    return new DataError(`The store cannot store this data: ${error.message}.`, 'Please report it.', { cause: error })
  }
  return (
    schemaFault(error) ??
    new StoreError(
      `The store cannot be written: ${error.message}.`,
      code === full
        ? 'Free disk space, or move the store to a larger disk.'
        : 'Check whether another process has locked the file.',
      { cause: error },
    )
  )
}

export function openFault(file: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const known = damageFault(file, error) ?? schemaFault(error)
  if (known !== undefined) return known
  const remedies: Readonly<Record<number, string>> = {
    [busy]: 'Another process has locked the file: wait until it is done, or stop it.',
    [full]: 'Free disk space, or move the store to a larger disk.',
  }
  const remedy =
    remedies[codeOf(error) ?? 0] ?? 'Check that PIPESPAN_STORE_URL is a file in a folder that this user can write to.'
  return new StoreError(`The store ${file} cannot be opened: ${reasonOf(error)}.`, remedy, { cause: error })
}

/** Returns the error to report for a schema of another version. Undefined if the cause is another one. */
export function schemaFault(error: unknown): StoreError | undefined {
  if (!isSqliteError(error) || !isOfTheSchema.sqlite.test(error.message)) return undefined
  return otherSchema('The store', error, 'a new file in another folder')
}

// Handles a damaged SQLite file. SQLite itself detects the damage. When a statement hits the damage, the daemon exits, or the command fails, with a
// one-sentence message. Nothing is salvaged from such a file. Senders got no 2xx for uncommitted deliveries, and data that the platform still has can
// be read again.

/** The operations on a prepared statement that the store uses. Parameters are numbered. */
export interface Statement {
  all(...values: SQLInputValue[]): Record<string, SQLOutputValue>[]
  get(...values: SQLInputValue[]): Record<string, SQLOutputValue> | undefined
  run(...values: SQLInputValue[]): StatementResultingChanges
}

/**
 * Returns a function that runs `work` and returns its result. If `work` hits a damaged file, the function calls `onDamage` and throws the same error.
 */
export function watchForDamage(file: string, onDamage: ((fault: StoreError) => void) | undefined) {
  return <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      const fault = damageFault(file, error)
      if (fault === undefined) throw error
      onDamage?.(fault)
      throw fault
    }
  }
}
