// Transactions of an SQLite connection.
import type { DatabaseSync } from 'node:sqlite'
import { isBusy, isSqliteError, writeFault, type Statement } from './faults.ts'

/** Runs `work` in one transaction, which is on disk when this function returns. Not reentrant. */
export type Transact = <T>(work: () => T) => T

/**
 * Creates transactions. `busyTimeout`: how long a transaction waits for another process to finish writing, in ms. The wait blocks the thread, so
 * after a timeout further transactions fail at once, until one succeeds.
 */
export function createTransactions(
  connection: DatabaseSync,
  prepare: (sql: string) => Statement,
  busyTimeout: number,
): Transact {
  let isLocked = false
  const begin = prepare('BEGIN IMMEDIATE')
  const commit = prepare('COMMIT')

  function beginUnlessLocked(): void {
    const wasLocked = isLocked
    try {
      begin.run()
      isLocked = false
    } catch (error) {
      isLocked = isBusy(error)
      throw error
    } finally {
      if (isLocked !== wasLocked) setBusyTimeout(connection, isLocked ? 0 : busyTimeout)
    }
  }

  return work => {
    try {
      beginUnlessLocked()
      const result = work()
      commit.run()
      return result
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      throw isSqliteError(error) ? writeFault(error) : error
    }
  }
}

export function setBusyTimeout(connection: DatabaseSync, ms: number): void {
  connection.exec(`PRAGMA busy_timeout = ${ms}`)
}
