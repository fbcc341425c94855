// Transactions of a SQLite connection: those that wait for the disk, those that do not, and what follows from each.
import type { DatabaseSync } from 'node:sqlite'
import { isBusy, isSqliteError, writeFault } from './faults.ts'
import type { LaterSync } from './later-sync.ts'

export interface Transactions {
  /** Runs `work` in one transaction, which is on the disk when this returns. Not reentrant. */
  readonly transaction: <T>(work: () => T) => T
  /**
   * The same without waiting for the disk, where the commit is some 20 ms later. For work that is only done again if a power failure takes its
   * commit away: all of what was committed before it is there then, and nothing of what came after it (decision 75).
   */
  readonly transactionSyncedLater: <T>(work: () => T) => T
  /** Within a transaction: calls `then` after its commit, and never if it is rolled back. For state in memory that follows rows. */
  readonly afterCommit: (then: () => void) => void
  /** Within a transaction: calls `then` once its commit is on the disk. For what cannot be taken back, such as removing the only other copy. */
  readonly afterSync: (then: () => void) => void
}

/** What follows from one transaction. */
interface Thens {
  readonly committed: (() => void)[]
  readonly synced: (() => void)[]
}

/**
 * Without `later`, every transaction waits for the disk. `busyTimeout`: how long one waits for another process to finish writing, ms. The thread does
 * nothing else meanwhile, so after a wait in vain the next ones fail at once, until one succeeds.
 */
export function createTransactions(
  connection: DatabaseSync,
  later: LaterSync | undefined,
  busyTimeout: number,
): Transactions {
  let thens: Thens | undefined
  let isLocked = false
  const begin = connection.prepare('BEGIN IMMEDIATE')
  const commit = connection.prepare('COMMIT')

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

  function inTransaction<T>(work: () => T, own: Thens): T {
    try {
      beginUnlessLocked()
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

  function synchronous(level: 'NORMAL' | 'FULL'): void {
    try {
      connection.exec(`PRAGMA synchronous = ${level}`)
    } catch (error) {
      throw isSqliteError(error) ? writeFault(error) : error
    }
  }

  function transaction<T>(work: () => T): T {
    const own: Thens = { committed: [], synced: [] }
    const result = inTransaction(work, own)
    callAll(own.committed)
    // In the order of all commits, some of which may still be on their way to the disk.
    if (own.synced.length > 0 && later !== undefined) later.committed(own.synced)
    else callAll(own.synced)
    return result
  }

  function syncedLater<T>(work: () => T, sync: LaterSync): T {
    const own: Thens = { committed: [], synced: [] }
    let result: T
    synchronous('NORMAL')
    try {
      result = inTransaction(work, own)
    } finally {
      synchronous('FULL')
    }
    callAll(own.committed)
    sync.committed(own.synced)
    return result
  }

  const ofTransaction = (): Thens => {
    if (thens === undefined) throw new Error('There is no transaction to wait for.')
    return thens
  }
  return {
    transaction,
    transactionSyncedLater: work => (later === undefined ? transaction(work) : syncedLater(work, later)),
    afterCommit: then => void ofTransaction().committed.push(then),
    afterSync: then => void ofTransaction().synced.push(then),
  }
}

export function setBusyTimeout(connection: DatabaseSync, ms: number): void {
  connection.exec(`PRAGMA busy_timeout = ${ms}`)
}

function callAll(thens: readonly (() => void)[]): void {
  for (const then of thens) then()
}
