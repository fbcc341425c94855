// Files and folders that are nobody else's to read from the moment they are there: who had one open before its rights were
// taken would read on.
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'

/** Makes an empty file (0600) where there is none; one that is there loses the rights of others. Throws what the file system throws. */
export function makePrivateFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
  chmodSync(file, 0o600)
}

/** The same for a folder (0700). One of another user is none to write into: it throws. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
}
