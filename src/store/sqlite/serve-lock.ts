// One `serve` per SQLite file. The lock is SQLite's own, held on a file beside the store: the operating system gives it
// back when the process dies, however it dies. A second file says who holds it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { makePrivateFile } from '../private-place.ts'
import { StoreError } from '../../lib/fault.ts'

export interface ServeLock {
  release(): void
}

/** Throws StoreError naming the holder's process and host. Commands beside the daemon do not take this lock. */
export function lockForServing(file: string): ServeLock {
  if (file === ':memory:') return { release: () => undefined }
  const lockFile = `${file}.lock`
  const holderFile = `${file}.holder`
  // Whoever could read it could hold it, and keep the daemon from starting.
  makePrivateFile(lockFile)
  const lock = new DatabaseSync(lockFile)
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new StoreError(
      `Another pipespan serves ${file}: ${holderOf(holderFile)}.`,
      'Stop that one first, or give this one a store of its own with PIPESPAN_STORE_URL.',
      { cause: error },
    )
  }
  writeFileSync(holderFile, `process ${process.pid} on ${hostname()}\n`, { mode: 0o600 })
  return {
    release: () => {
      rmSync(holderFile, { force: true })
      if (lock.isOpen) lock.close()
    },
  }
}

function holderOf(holderFile: string): string {
  try {
    return readFileSync(holderFile, 'utf8').trim()
  } catch {
    return 'a process that did not say which'
  }
}
