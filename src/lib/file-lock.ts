// Provides a lock between processes that is released when its holder dies. It is SQLite's exclusive file lock on an empty file.
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

/**
 * Takes the lock, or answers undefined immediately if another process has it. The kernel releases the lock when the process ends, for whatever
 * reason, so there are no stale locks. The empty file is never deleted, because two processes could then lock two files of the same name.
 */
export function tryLock(path: string): FileLock | undefined {
  // The file is only created if it is missing, because closing it would release a lock that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    // The journal is in memory, because the transaction would otherwise create a journal file.
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
