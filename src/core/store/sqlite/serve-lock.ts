// The serve lock: only one process may serve an SQLite store, that is, migrate it, take in deliveries and delete data. The lock is SQLite's own, on a
// file next to the store, so the operating system releases it however the process ends. A second file names the holder.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './faults.ts'
import { makePrivateFile, placeFault } from './store-file.ts'
import { reasonOf, StoreError } from '../../../lib/fault.ts'

interface ServeLock {
  release(): void
}

/**
 * Takes the serve lock. `file`: the path with links resolved (`storeFile`). Throws StoreTaken, which names the holder's process and host. Commands
 * that share the store with a daemon do not take this lock.
 */
export function lockForServing(file: string): ServeLock {
  const holderFile = `${file}.holder`
  let lock: DatabaseSync | undefined
  try {
    // The lock file is private: any user who can read it can lock it, and so keep the daemon from starting.
    makePrivateFile(`${file}.lock`)
    lock = new DatabaseSync(`${file}.lock`)
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock?.close()
    throw isBusy(error) ? takenFault(file, holderOf(holderFile), error) : lockFault(file, error)
  }
  const held = lock
  sayWhoHolds(holderFile)
  return {
    release: () => {
      if (!held.isOpen) return
      rmSync(holderFile, { force: true })
      held.close()
    },
  }
}

/** Thrown if another process serves the store. */
export class StoreTaken extends StoreError {}

function takenFault(file: string, holder: string, cause: unknown): StoreTaken {
  return new StoreTaken(
    `Another pipespan process uses ${file}: ${holder}.`,
    'Stop that process first, or use a different store (PIPESPAN_STORE_URL).',
    { cause },
  )
}

function lockFault(file: string, cause: unknown): StoreError {
  const fault = placeFault(file, cause)
  if (fault !== cause && fault instanceof StoreError) return fault
  return new StoreError(
    `The store ${file} cannot be opened: its lock cannot be taken: ${reasonOf(cause)}.`,
    'Check that PIPESPAN_STORE_URL is a file in a folder that this user can write to.',
    { cause },
  )
}

function sayWhoHolds(holderFile: string): void {
  try {
    writeFileSync(holderFile, `process ${process.pid} on ${hostname()}\n`, { mode: 0o600 })
  } catch {
    // The disk is full. `StoreTaken` then cannot name the process that holds the lock.
  }
}

function holderOf(holderFile: string): string {
  try {
    return readFileSync(holderFile, 'utf8').trim()
  } catch {
    return 'an unknown process'
  }
}
