// Why there can be no store at a place, as one sentence with a remedy: the same for the daemon, which creates the store, and for `doctor`, which
// only tries whether it could.
import { existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { reasonOf, StoreError } from '../../../lib/fault.ts'

const elsewhere = 'Set PIPESPAN_STORE_URL to a file in a writable folder.'

/** By the error's code. `at`: the last name on the way that exists. */
const refusals: Readonly<Record<string, (at: string) => readonly [what: string, remedy: string]>> = {
  EACCES: at => [`this user cannot write to ${at}`, elsewhere],
  EPERM: at => [`this user cannot write to ${at}`, elsewhere],
  EROFS: at => [`the file system of ${at} is read-only`, elsewhere],
  // Parents are created, so what is missing can only be missing in a file system such as /proc.
  ENOENT: at => [`no files can be created in ${at}`, elsewhere],
  EEXIST: at => [`${at} is not a folder`, elsewhere],
  ENOTDIR: at => [`${at} is not a folder`, elsewhere],
  ELOOP: () => ['symbolic links on the way to it lead in a circle', elsewhere],
  ENAMETOOLONG: () => ['its path, or a name in it, is too long', 'Set PIPESPAN_STORE_URL to a shorter path.'],
  ENOSPC: at => [`the disk of ${at} is full`, 'Free disk space, or move the store to a larger disk.'],
  EDQUOT: at => [`the disk quota of ${at} is used up`, 'Free disk space, or move the store to a larger disk.'],
}

/** `file`: absolute. Other errors than those of the file system are returned as they are. */
export function placeFault(file: string, error: unknown): Error {
  if (!(error instanceof Error)) return new Error(reasonOf(error))
  if (!('syscall' in error && 'code' in error)) return error
  const way = 'path' in error && typeof error.path === 'string' ? error.path : file
  const [what, remedy] = refusals[String(error.code)]?.(lastThere(way)) ?? [reasonOf(error), elsewhere]
  const verb = existsSync(file) ? 'opened' : 'created'
  return new StoreError(`The store ${file} cannot be ${verb}: ${what}.`, remedy, { cause: error })
}

/** Throws StoreError if no store can be created there. Leaves nothing behind. `file`: without links (`storeFile`). */
export function provePlace(file: string): void {
  try {
    rmdirSync(mkdtempSync(path.join(lastThere(path.dirname(file)), '.pipespan-')))
  } catch (error) {
    throw placeFault(file, error)
  }
}

function lastThere(name: string): string {
  let at = name
  while (!existsSync(at) && at !== path.dirname(at)) at = path.dirname(at)
  return at
}

/** Throws StoreError if something other than a file is there. */
export function refuseFolder(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return
  const within = path.join(file, 'pipespan.db')
  throw new StoreError(`The store ${file} is a folder.`, `Set PIPESPAN_STORE_URL to a file in it: sqlite:${within}.`)
}
