// Backs up the SQLite store while a daemon may be writing to it: one file that also has what is pending in the write-ahead log (WAL) beside
// the store.
import { chmodSync, closeSync, constants, copyFileSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { walFolder, listSegments, type Segment } from './wal/segments.ts'
import { openSqlite } from './open-sqlite.ts'
import { storeFile } from './store-file.ts'
import { reasonOf, StoreError } from '../../lib/fault.ts'

/**
 * Writes a new file (0600) and checks it; leaves none if that fails. Refuses a name beside which there are deliveries: they belong to a store
 * whose file is gone, and may be all that is left of it. Throws StoreError with a remedy.
 */
export async function backupSqlite(file: string, target: string): Promise<void> {
  const folder = walFolder(target)
  if (existsSync(folder)) {
    throw new StoreError(
      `${target} cannot be created: ${folder} has the deliveries of a store with that name.`,
      'Use another name for the backup.',
    )
  }
  try {
    // Created here, as SQLite would create it readable for others.
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new StoreError(`${target} cannot be created: ${reasonOf(error)}.`, 'Use a new file in a writable folder.')
  }
  let waits = false
  try {
    chmodSync(target, 0o600)
    const real = storeFile(file)
    // The WAL first: what is processed meanwhile is in the database, which is copied after it.
    const segments = listSegments(walFolder(real))
    if (segments.length > 0) {
      mkdirSync(folder, { mode: 0o700 })
      waits = true
      copyWal(segments, folder)
    }
    const source = new DatabaseSync(real, { readOnly: true })
    try {
      source.exec('PRAGMA busy_timeout = 10000')
      source.prepare('VACUUM INTO ?').run(target)
    } finally {
      source.close()
    }
    if (waits) await takeWalIn(target)
    const copy = new DatabaseSync(target, { readOnly: true })
    try {
      const verdict = copy.prepare('PRAGMA integrity_check').get()?.integrity_check
      if (verdict !== 'ok') throw new Error(String(verdict))
    } finally {
      copy.close()
    }
  } catch (error) {
    rmSync(target, { force: true })
    if (waits) {
      rmSync(folder, { force: true, recursive: true })
      rmSync(`${target}.lock`, { force: true })
    }
    if (error instanceof StoreError) throw error
    throw new StoreError(`The backup failed: ${reasonOf(error)}.`, 'Check that the disk has room for another copy.')
  }
}

function copyWal(segments: readonly Segment[], folder: string): void {
  for (const segment of segments) {
    const copy = path.join(folder, path.basename(segment.file))
    try {
      copyFileSync(segment.file, copy, constants.COPYFILE_EXCL)
      chmodSync(copy, 0o600)
    } catch (error) {
      // A segment that was deleted meanwhile had only processed deliveries.
      if (existsSync(segment.file)) throw error
    }
  }
}

async function takeWalIn(target: string): Promise<void> {
  const store = openSqlite(target, { now: () => Date.now(), maxSize: Infinity })
  try {
    await store.intoTables()
  } finally {
    await store.close()
  }
  rmSync(walFolder(target), { recursive: true })
  rmSync(`${target}.lock`)
  // So that readers of the backup leave no files beside it.
  const copy = new DatabaseSync(target)
  copy.exec('PRAGMA journal_mode = DELETE')
  copy.close()
}
