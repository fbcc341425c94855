// Backs up the SQLite store while a daemon may be writing to it: one file that also has the accepted deliveries that are
// pending beside the store.
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
import { createDeliveryFile, deliveryFolder, fillFrom, listDeliveryFiles, openToRead } from './deliveries/files.ts'
import { openSqlite } from './open-sqlite.ts'
import { storeFile } from './store-file.ts'
import { reasonOf, StoreError } from '../../lib/fault.ts'

/**
 * Writes a new file (0600) and checks it; leaves none if that fails. The file is made in a folder beside its place, and gets its name when it is complete; a process
 * that is killed leaves that folder and an empty file. Refuses a name beside which there are deliveries: they belong to a store whose file is gone,
 * and a daemon that starts with the backup would treat them as processed. Throws StoreError with a remedy.
 */
export async function backupSqlite(file: string, target: string): Promise<void> {
  const deliveries = deliveryFolder(target)
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
  // Created here, because SQLite would make it readable for others.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  // The deliveries first: those that are processed meanwhile are in the database, which is copied afterwards.
  copyDeliveries(file, deliveryFolder(copy))
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    source.exec('PRAGMA busy_timeout = 10000')
    source.prepare('VACUUM INTO ?').run(copy)
  } finally {
    source.close()
  }
  await takeDeliveriesIn(copy)
  const written = new DatabaseSync(copy, { readOnly: true })
  try {
    const verdict = written.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (verdict !== 'ok') throw new Error(String(verdict))
  } finally {
    written.close()
  }
}

function copyDeliveries(file: string, folder: string): void {
  const files = listDeliveryFiles(deliveryFolder(file))
  const current = files.pop()
  if (current === undefined) {
    if (!existsSync(`${file}.holder`)) return
    throw new StoreError(
      'The deliveries that a daemon has accepted are not beside the store.',
      `Check that ${deliveryFolder(file)} is there, and try again once the daemon has written it again.`,
    )
  }
  mkdirSync(folder, { mode: 0o700 })
  // Nobody writes these any more.
  for (const { path: one } of files)
    for (const name of [one, `${one}-wal`]) copyIfThere(name, path.join(folder, path.basename(name)))
  const connection = openToRead(current.path)
  try {
    createDeliveryFile(folder, { number: current.number, salt: current.salt, fill: fillFrom(connection) })
  } finally {
    connection.close()
  }
}

function copyIfThere(name: string, copy: string): void {
  try {
    copyFileSync(name, copy, constants.COPYFILE_EXCL)
    chmodSync(copy, 0o600)
  } catch (error) {
    // A file that was removed meanwhile had no waiting deliveries.
    if (existsSync(name)) throw error
  }
}

async function takeDeliveriesIn(file: string): Promise<void> {
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
