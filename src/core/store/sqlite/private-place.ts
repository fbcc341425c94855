// Creates files and folders that no other user can read, from the first moment: a process that opens a file before its mode is changed can
// continue to read it. Folders survive a power failure: a folder's name is an entry of its parent, so the parent is synced, too.
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import path from 'node:path'
import { StoreError } from '../../../lib/fault.ts'

/** Creates an empty file (0600), or sets the mode of an existing one. Throws what the file system throws. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // An existing file must not be opened: closing it would release all POSIX locks that this process has on it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    refuseSpecialFile(file)
  }
  chmodSync(file, 0o600)
}

/** Throws StoreError for a device, a FIFO, a socket or a folder: a mode set by root would take it from everybody else. */
export function refuseSpecialFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== false) return
  throw new StoreError(`${file} is not a regular file.`, 'Set PIPESPAN_STORE_URL to a file in a folder of its own.')
}

/** The same for a folder (0700). Throws if it belongs to another user. */
export function makePrivateFolder(folder: string): void {
  makeFolder(folder)
  chmodSync(folder, 0o700)
}

/**
 * Creates it and its parents (0700) if they are missing. Throws what the file system throws. Not by Node's `recursive`, which tries without end
 * if a folder exists in which none can be created, such as /proc.
 */
export function makeFolder(folder: string): void {
  const wanted = path.resolve(folder)
  if (isFolder(wanted)) return
  const parent = path.dirname(wanted)
  if (parent !== wanted) makeFolder(parent)
  try {
    mkdirSync(wanted, { mode: 0o700 })
  } catch (error) {
    // Another process may have been quicker.
    if (!isFolder(wanted)) throw error
  }
  syncFolder(parent)
}

function isFolder(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Waits until its entries are on disk. */
export function syncFolder(folder: string): void {
  // Windows cannot open folders, and need not.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
