// Folders of the store that are still there after a power failure: a folder's name is an entry of its parent, and lasts only once
// the parent is on the disk.
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'

/** Makes it, and the folders above it, where they are missing (0700). Throws what the file system throws. */
export function makeFolder(folder: string): void {
  const wanted = path.resolve(folder)
  const first = mkdirSync(wanted, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const top = path.dirname(path.resolve(first))
  for (let made = wanted; made !== top; made = path.dirname(made)) syncFolder(path.dirname(made))
}

/** Waits until its entries are on the disk. */
export function syncFolder(folder: string): void {
  // Not every system opens a folder; those that do not keep names by themselves.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
