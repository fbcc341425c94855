// The files of accepted deliveries: SQLite databases in a folder beside the store. The ingress writes to the one with the highest number. The
// others were left behind: damaged, or brought back by somebody. A name also has the salt of the file's checksums.
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { threadId } from 'node:worker_threads'
import { makePrivateFile, makePrivateFolder, syncFolder } from '../private-place.ts'
import { StoreError } from '../../../lib/fault.ts'
import { leaveOldSchema } from '../../sql/schema.ts'
import { setBusyTimeout } from '../transactions.ts'
import { pageBytes, schema } from './rows.ts'
import type { DeliveryPositions } from './positions.ts'

export interface DeliveryFile {
  readonly number: number
  readonly salt: number
  readonly path: string
}

/** Such as `00000001-5f3a9c01.db`. */
const named = /^(\d{8,})-([0-9a-f]{8})\.db$/
/** SQLite's log and its index, beside each file. */
const companions = ['-wal', '-shm']
/** SQLite's log is written back to the file when it has so many bytes. */
const logBytes = 8 * 2 ** 20
const unfinished = '.unfinished'
/** How long the ingress waits for another process that has locked its file, ms. */
export const busyTimeout = 500

export function deliveryFolder(storeFile: string): string {
  return `${storeFile}-deliveries`
}

/** In the order of their numbers; empty if there is no folder. */
export function listDeliveryFiles(folder: string): DeliveryFile[] {
  return namesIn(folder)
    .flatMap(name => {
      const [, number, salt] = named.exec(name) ?? []
      if (number === undefined || salt === undefined) return []
      return [{ number: Number(number), salt: Number.parseInt(salt, 16), path: path.join(folder, name) }]
    })
    .sort((a, b) => a.number - b.number)
}

/** The file that is written to. Throws StoreError if it is missing. */
export function currentFile(folder: string, number: number): DeliveryFile {
  const found = listDeliveryFiles(folder).find(one => one.number === number)
  if (found !== undefined) return found
  throw new StoreError(
    'The file of accepted deliveries beside the store is away.',
    `Check that nobody moves files of ${folder}.`,
  )
}

export const damagedFile =
  'the file of accepted deliveries is damaged: another one is begun, and what can be read of it is processed'

/** Begins a file for deliveries that are accepted from now on. */
export function beginNextFile(folder: string, positions: DeliveryPositions): void {
  positions.file = { number: createDeliveryFile(folder).number, begins: positions.end.seq + 1 }
}

/** Bytes of all files but one. */
export function bytesOfFiles(folder: string, but?: number): number {
  return listDeliveryFiles(folder)
    .filter(({ number }) => number !== but)
    .flatMap(file => namesOf(file))
    .reduce((sum, name) => sum + (statSync(name, { throwIfNoEntry: false })?.size ?? 0), 0)
}

export function namesOf({ path: file }: DeliveryFile): string[] {
  return [file, ...companions.map(end => `${file}${end}`)]
}

/** Only if no part of it is needed any more. */
export function removeDeliveryFile(file: DeliveryFile): void {
  for (const name of namesOf(file)) rmSync(name, { force: true })
}

/** The incomplete file of a killed process, with bodies. */
export function removeUnfinished(folder: string): void {
  for (const name of namesIn(folder).filter(one => one.includes(unfinished))) rmSync(path.join(folder, name))
}

interface NewFile {
  /** At least this number. */
  readonly number?: number
  readonly salt?: number
  /** Fills a database that is empty. */
  readonly fill?: (path: string) => void
}

/**
 * Creates the file with the next number (folder 0700, file 0600), which survives a power failure. It gets its name when it is complete. Throws what the
 * file system and SQLite throw.
 */
export function createDeliveryFile(folder: string, { number = 1, salt, fill = fillEmpty }: NewFile = {}): DeliveryFile {
  makePrivateFolder(folder)
  const next = Math.max(number, (listDeliveryFiles(folder).at(-1)?.number ?? 0) + 1)
  const salted = salt ?? randomBytes(4).readUInt32BE()
  const file = path.join(folder, `${String(next).padStart(8, '0')}-${salted.toString(16).padStart(8, '0')}.db`)
  const begun = `${file}${unfinished}`
  try {
    removeUnfinished(folder)
    makePrivateFile(begun)
    fill(begun)
    renameSync(begun, file)
  } catch (error) {
    removeUnfinished(folder)
    throw error
  }
  syncFolder(folder)
  return { number: next, salt: salted, path: file }
}

function fillEmpty(file: string): void {
  const made = new DatabaseSync(file)
  try {
    made.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; ${schema}`)
  } finally {
    made.close()
  }
}

/** Copies another file, which may have no name any more, into a new one. */
export function fillFrom(source: DatabaseSync): (file: string) => void {
  return file => {
    source.prepare('VACUUM INTO ?').run(file)
    const made = new DatabaseSync(file)
    try {
      made.exec('PRAGMA journal_mode = WAL')
    } finally {
      made.close()
    }
  }
}

/** Never creates the file. `secure_delete = FAST`: rows are overwritten where a page is written anyway. */
export function openToWrite({ path: file }: DeliveryFile): DatabaseSync {
  const location = pathToFileURL(file)
  location.searchParams.set('mode', 'rw')
  return opened(
    new DatabaseSync(location),
    `PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST; PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = ${logBytes / pageBytes}`,
  )
}

export function openToRead(file: string): DatabaseSync {
  return opened(new DatabaseSync(file, { readOnly: true }), 'PRAGMA cache_size = -256')
}

function opened(connection: DatabaseSync, pragmas: string): DatabaseSync {
  try {
    setBusyTimeout(connection, busyTimeout)
    connection.exec(pragmas)
    // Opens SQLite's log, too.
    connection.prepare('SELECT seq FROM deliveries LIMIT 1').get()
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

/** A statement that is compiled once for its connection: compiling takes longer than running most of them. */
export function prepared(connection: DatabaseSync, sql: string): StatementSync {
  const known = statements.get(connection) ?? new Map<string, StatementSync>()
  const statement = known.get(sql) ?? connection.prepare(sql)
  statements.set(connection, known.set(sql, statement))
  return statement
}

/** Bytes of the pages in use. */
export function usedBytes(connection: DatabaseSync): number {
  const pages = Number(prepared(connection, 'PRAGMA page_count').get()?.page_count)
  return (pages - Number(prepared(connection, 'PRAGMA freelist_count').get()?.freelist_count)) * pageBytes
}

export const eraseUpTo = 'DELETE FROM deliveries WHERE seq <= ?'

/** Only while no other process writes the file. */
export function eraseProcessed(folder: string, positions: DeliveryPositions): void {
  const file = listDeliveryFiles(folder).find(({ number }) => number === positions.file.number)
  if (file === undefined) return
  const connection = openToWrite(file)
  try {
    connection.prepare(eraseUpTo).run(positions.processed)
    shrink(connection)
  } finally {
    connection.close()
  }
}

/** Removes freed pages from the file, and everything from SQLite's log. False if another connection is reading: try again later. */
export function shrink(connection: DatabaseSync): boolean {
  connection.exec('PRAGMA incremental_vacuum')
  return connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
}

/** Throws StoreError if a version from before the first release has left deliveries that it did not export. */
export function refuseOldLog(storeFile: string): void {
  for (const folder of [`${storeFile}-inbox`, deliveryFolder(storeFile)]) {
    if (!namesIn(folder).some(name => /\.(?:journal|wal|wal\.unread)$/.test(name))) continue
    throw new StoreError(
      `${folder} has deliveries of a pre-release version that this version cannot read.`,
      leaveOldSchema('a new file in another folder'),
    )
  }
}

/** A disk counts as not full if it has room for a large delivery, bytes. */
export const defaultRoom = 256 * 1024

/** Proves that the disk has room for so many bytes; throws what the file system throws. */
export async function proveFolder(folder: string, bytes: number): Promise<void> {
  const file = path.join(folder, `probe-${threadId}`)
  try {
    // Overwriting an existing file would prove nothing.
    await rm(file, { force: true })
    await writeFile(file, Buffer.alloc(bytes), { mode: 0o600, flush: true })
  } finally {
    await rm(file, { force: true })
  }
}

function namesIn(folder: string): string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : []
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return []
    throw error
  }
}
