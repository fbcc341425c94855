// Backs up the SQLite store while a daemon may be writing to it.
import { chmodSync, closeSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { damageFault } from './faults.ts'
import { storeFile } from './store-file.ts'
import { reasonOf, StoreError } from '../../../lib/fault.ts'

/**
 * Writes a backup to a new file (0600) and verifies it. If that fails, no file is left behind. The backup is written in a folder next to its target,
 * and renamed when it is complete. If the process is killed, that folder and an empty file remain. Throws a StoreError that says how to fix the
 * problem.
 */
export function backupSqlite(file: string, target: string): void {
  try {
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new StoreError(`${target} cannot be created: ${reasonOf(error)}.`, 'Use a new file in a writable folder.')
  }
  let unfinished: string | undefined
  try {
    unfinished = mkdtempSync(`${target}-unfinished-`)
    const copy = path.join(unfinished, 'backup.db')
    copyStore(storeFile(file), copy)
    renameSync(copy, target)
  } catch (error) {
    rmSync(target, { force: true })
    if (error instanceof StoreError) throw error
    throw (
      damageFault(file, error) ??
      new StoreError(`The backup failed: ${reasonOf(error)}.`, 'Check that the disk has room for another copy.')
    )
  } finally {
    if (unfinished !== undefined) rmSync(unfinished, { force: true, recursive: true })
  }
}

function copyStore(file: string, copy: string): void {
  // Create the file here, because SQLite would make it readable by other users.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    source.exec('PRAGMA busy_timeout = 10000')
    source.prepare('VACUUM INTO ?').run(copy)
  } finally {
    source.close()
  }
  const written = new DatabaseSync(copy, { readOnly: true })
  try {
    const verdict = written.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (verdict !== 'ok') throw new Error(String(verdict))
  } finally {
    written.close()
  }
}
