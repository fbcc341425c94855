// Files and folders that are nobody else's to read from the moment they are there: who had one open before its rights were
// taken would read on.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { makeFolder } from './folder.ts'

/** Makes an empty file (0600) where there is none; one that is there loses the rights of others. Throws what the file system throws. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // One that is there is not even opened: at its closing the system would give up every lock that this process has on it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  chmodSync(file, 0o600)
}

/** The same for a folder (0700). One of another user is none to write into: it throws. */
export function makePrivateFolder(folder: string): void {
  makeFolder(folder)
  chmodSync(folder, 0o700)
}
