// Transactions of an SQLite connection, and callbacks after each commit.
import type { DatabaseSync } from 'node:sqlite'
import { isBusy, isSqliteError, writeFault } from './faults.ts'
import type { Statement } from './damage.ts'

export interface Transactions {
  /** Runs `work` in one transaction, which is on the disk when this returns. Not reentrant. */
  readonly transaction: <T>(work: () => T) => T
  /** Within a transaction: calls `then` after its commit, and never after a rollback. For state in memory that follows rows. */
  readonly afterCommit: (then: () => void) => void
}

/**
 * `busyTimeout`: how long one waits for another process to finish writing, ms. The thread does
 * nothing else meanwhile, so after a wait that timed out the next transactions fail at once, until one succeeds.
 */
export function createTransactions(
  connection: DatabaseSync,
  prepare: (sql: string) => Statement,
  busyTimeout: number,
): Transactions {
  /** The callbacks of the open transaction. */
  let thens: (() => void)[] | undefined
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

  function transaction<T>(work: () => T): T {
    const own: (() => void)[] = []
    let result: T
    try {
      beginUnlessLocked()
      thens = own
      result = work()
      commit.run()
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      throw isSqliteError(error) ? writeFault(error) : error
    } finally {
      thens = undefined
    }
    for (const then of own) then()
    return result
  }

  return {
    transaction,
    afterCommit: then => {
      if (thens === undefined) throw new Error('There is no transaction to wait for.')
      thens.push(then)
    },
  }
}

export function setBusyTimeout(connection: DatabaseSync, ms: number): void {
  connection.exec(`PRAGMA busy_timeout = ${ms}`)
}
