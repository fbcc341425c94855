// A lock between processes that is released when its holder dies. It uses SQLite's exclusive file lock on an empty file.
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

/**
 * Acquires the lock, or returns undefined immediately if another process holds it. The kernel releases the lock when the process ends for any reason,
 * so there are no stale locks. The empty file is never deleted, because two processes could then lock two different files with the same name.
 */
export function tryLock(path: string): FileLock | undefined {
  // The file is created only if it is missing: opening and closing an existing file would release a lock that this process holds on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    // The journal is kept in memory, because the transaction would otherwise create a journal file on disk.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined
    throw error
  }
  return { release: () => database.close() }
}

/** SQLite's error code SQLITE_BUSY. */
const busy = 5
