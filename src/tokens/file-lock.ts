// A lock between processes that dies with its holder: SQLite's own exclusive file lock, on an empty file.
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

/**
 * Takes the lock, or answers undefined at once when somebody else has it. The kernel lets go of it whatever ends the
 * process, so there is nothing to take over and no process id to misread. The empty file stays: deleting it would let
 * two processes lock two files of one name.
 */
export function tryLock(path: string): FileLock | undefined {
  // Only where it is missing: closing it would give up a lock that this very process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    // In memory: an exclusive transaction would else put a journal file beside it.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined
    throw error
  }
  return { release: () => database.close() }
}

/** SQLITE_BUSY */
const busy = 5
