// Creates files and folders that no other user can read, from the first moment: a process that opens a file before its mode is changed can
// continue to read it.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { makeFolder } from './folder.ts'

/** Creates an empty file (0600), or sets the mode of an existing one. Throws what the file system throws. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // An existing file must not be opened: closing it would release all POSIX locks that this process has on it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  chmodSync(file, 0o600)
}

/** The same for a folder (0700). Throws if it belongs to another user. */
export function makePrivateFolder(folder: string): void {
  makeFolder(folder)
  chmodSync(folder, 0o700)
}
