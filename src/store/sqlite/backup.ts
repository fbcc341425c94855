// Backs up the SQLite store while a daemon may be writing to it: one file that also has what is pending in the write-ahead log (WAL) beside
// the store.
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { walFolder, listSegments, type Segment } from './wal/segments.ts'
import { openSqlite } from './open-sqlite.ts'
import { storeFile } from './store-file.ts'
import { reasonOf, StoreError } from '../../lib/fault.ts'

/**
 * Writes a new file (0600) and checks it; leaves none if that fails. It is made in a folder beside it, and gets its name when it is whole; a process
 * that is killed leaves that folder and an empty file. Refuses a name beside which there are deliveries: they belong to a store whose file is gone,
 * and a daemon that is started with the backup would take them for processed. Throws StoreError with a remedy.
 */
export async function backupSqlite(file: string, target: string): Promise<void> {
  const deliveries = walFolder(target)
  if (existsSync(deliveries)) {
    throw new StoreError(
      `${target} cannot be created: ${deliveries} has the deliveries of a store with that name.`,
      'Use another name for the backup.',
    )
  }
  try {
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new StoreError(`${target} cannot be created: ${reasonOf(error)}.`, 'Use a new file in a writable folder.')
  }
  let unfinished: string | undefined
  try {
    unfinished = mkdtempSync(`${target}-unfinished-`)
    const copy = path.join(unfinished, 'backup.db')
    await copyStore(storeFile(file), copy)
    renameSync(copy, target)
  } catch (error) {
    rmSync(target, { force: true })
    if (error instanceof StoreError) throw error
    throw new StoreError(`The backup failed: ${reasonOf(error)}.`, 'Check that the disk has room for another copy.')
  } finally {
    if (unfinished !== undefined) rmSync(unfinished, { force: true, recursive: true })
  }
}

async function copyStore(file: string, copy: string): Promise<void> {
  // Created here, as SQLite would create it readable for others.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  // The WAL first: what is processed meanwhile is in the database, which is copied after it.
  const segments = listSegments(walFolder(file))
  if (segments.length > 0) copyWal(segments, walFolder(copy))
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    source.exec('PRAGMA busy_timeout = 10000')
    source.prepare('VACUUM INTO ?').run(copy)
  } finally {
    source.close()
  }
  if (segments.length > 0) await takeWalIn(copy)
  const written = new DatabaseSync(copy, { readOnly: true })
  try {
    const verdict = written.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (verdict !== 'ok') throw new Error(String(verdict))
  } finally {
    written.close()
  }
}

function copyWal(segments: readonly Segment[], folder: string): void {
  mkdirSync(folder, { mode: 0o700 })
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

async function takeWalIn(file: string): Promise<void> {
  const store = openSqlite(file, { now: () => Date.now(), maxSize: Infinity })
  try {
    await store.intoTables()
  } finally {
    await store.close()
  }
  // So that readers of the backup leave no files beside it.
  const copy = new DatabaseSync(file)
  copy.exec('PRAGMA journal_mode = DELETE')
  copy.close()
}
