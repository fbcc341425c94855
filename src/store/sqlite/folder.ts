// Creates folders that survive a power failure: a folder's name is an entry of its parent, so the parent must be synced, too.
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'

/** Creates it and its parents (0700) if they are missing. Throws what the file system throws. */
export function makeFolder(folder: string): void {
  const wanted = path.resolve(folder)
  const first = mkdirSync(wanted, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const top = path.dirname(path.resolve(first))
  for (let made = wanted; made !== top; made = path.dirname(made)) syncFolder(path.dirname(made))
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
