// A copy of the SQLite file as it is at one moment, while a daemon goes on writing to it.
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, StoreError } from '../../lib/fault.ts'

/** Writes a new file (0600) that is complete and checked, or none. Throws StoreError with a remedy. */
export function backupSqlite(file: string, target: string): void {
  try {
    // Made empty first, so that it is nobody else's to read at any moment; SQLite fills it.
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new StoreError(
      `${target} cannot be made: ${reasonOf(error)}.`,
      'Name a new file in a folder you may write to.',
    )
  }
  try {
    chmodSync(target, 0o600)
    const source = new DatabaseSync(file, { readOnly: true })
    try {
      source.exec('PRAGMA busy_timeout = 10000')
      source.prepare('VACUUM INTO ?').run(target)
    } finally {
      source.close()
    }
    const copy = new DatabaseSync(target, { readOnly: true })
    try {
      const verdict = copy.prepare('PRAGMA integrity_check').get()?.integrity_check
      if (verdict !== 'ok') throw new Error(String(verdict))
    } finally {
      copy.close()
    }
  } catch (error) {
    rmSync(target, { force: true })
    throw new StoreError(`The backup failed: ${reasonOf(error)}.`, 'See whether the disk has room for another copy.')
  }
}
