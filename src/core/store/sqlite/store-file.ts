// Resolves the path of a store. The WAL, the lock and the list of leased exports are files next to the store, named after it. So a store must always
// be opened under the same name, whatever links lead to it.
import path from 'node:path'
import {
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  existsSync,
  mkdtempSync,
  rmdirSync,
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
} from 'node:fs'
import { StoreError, reasonOf } from '../../../lib/fault.ts'

// Explains in one sentence why no store can be created at a path, and how to fix that. The daemon, which creates the store, and `doctor`, which only
// checks that it could be created, print the same sentence.
const elsewhere = 'Set PIPESPAN_STORE_URL to a file in a writable folder.'

/** The reasons why no store can be created, by error code. `at`: the last part of the path that exists. */
const refusals: Readonly<Record<string, (at: string) => readonly [what: string, remedy: string]>> = {
  EACCES: at => [`this user cannot write to ${at}`, elsewhere],
  EPERM: at => [`this user cannot write to ${at}`, elsewhere],
  EROFS: at => [`the file system of ${at} is read-only`, elsewhere],
  // Missing parent folders are created, so ENOENT occurs only in a file system such as /proc.
  ENOENT: at => [`no files can be created in ${at}`, elsewhere],
  EEXIST: at => [`${at} is not a folder`, elsewhere],
  ENOTDIR: at => [`${at} is not a folder`, elsewhere],
  ELOOP: () => ['its path contains a loop of symbolic links', elsewhere],
  ENAMETOOLONG: () => ['its path, or a name in it, is too long', 'Set PIPESPAN_STORE_URL to a shorter path.'],
  ENOSPC: at => [`the disk of ${at} is full`, 'Free disk space, or move the store to a larger disk.'],
  EDQUOT: at => [`the disk quota of ${at} is used up`, 'Free disk space, or move the store to a larger disk.'],
}

/** Converts a file system error into a StoreError. `file`: an absolute path. Other errors are returned unchanged. */
export function placeFault(file: string, error: unknown): Error {
  if (!(error instanceof Error)) return new Error(reasonOf(error))
  if (!('syscall' in error && 'code' in error)) return error
  const way = 'path' in error && typeof error.path === 'string' ? error.path : file
  const [what, remedy] = refusals[String(error.code)]?.(lastThere(way)) ?? [reasonOf(error), elsewhere]
  const verb = existsSync(file) ? 'opened' : 'created'
  return new StoreError(`The store ${file} cannot be ${verb}: ${what}.`, remedy, { cause: error })
}

/** Throws StoreError if no store can be created at this path. Leaves no files behind. `file`: the path with links resolved (`storeFile`). */
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

/** Throws StoreError if the path is a folder. */
function refuseFolder(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return
  const within = path.join(file, 'pipespan.db')
  throw new StoreError(`The store ${file} is a folder.`, `Set PIPESPAN_STORE_URL to a file in it: sqlite:${within}.`)
}

/** The longest suffix that a file next to the store adds to the store's name. */
const maxEnding = '-sending'

/**
 * Returns the store's path with symbolic links resolved. Throws StoreError if no store can be at that path, or if the file has hard links or is
 * itself a mount point.
 */
export function storeFile(file: string): string {
  const real = realFile(path.resolve(file))
  refuseSpecialFile(real)
  const names = statSync(real, { throwIfNoEntry: false })?.nlink ?? 1
  if (names > 1) {
    throw new StoreError(
      `The store ${real} has ${names} names (hard links): opened under another name, it would get different companion files.`,
      'Remove the other hard links; use `pipespan store backup` for copies.',
    )
  }
  if (isMounted(real)) {
    throw new StoreError(
      `The store ${real} is mounted as a single file, so its companion files (WAL, lock) cannot be created next to it.`,
      'Mount its folder instead.',
    )
  }
  return real
}

function realFile(file: string): string {
  try {
    const real = withoutLinks(file)
    refuseFolder(real)
    lstatSync(`${real}${maxEnding}`, { throwIfNoEntry: false })
    return real
  } catch (error) {
    throw placeFault(file, error)
  }
}

/** Resolves the symbolic links in a path, even if the file does not exist yet. */
function withoutLinks(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true
  if (isLink) return withoutLinks(path.resolve(path.dirname(file), readlinkSync(file)))
  const folder = path.dirname(file)
  return folder === file ? file : path.join(withoutLinks(folder), path.basename(file))
}

/** Whether the file is a mount point. Always false on systems other than Linux. */
function isMounted(file: string): boolean {
  try {
    const escaped = file.replace(/[\\ \t\n]/g, char => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .some(line => line.split(' ')[4] === escaped)
  } catch {
    return false
  }
}

// Creates files and folders that other users can never read. If the mode were changed after creation, a process that had already opened the file
// could still read it. Folders survive a power failure: a folder's name is an entry of its parent, so the parent is synced as well.

/** Creates an empty file (0600), or sets the mode of an existing one. File system errors are thrown unchanged. */
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

/** Throws StoreError for a device, a FIFO, a socket or a folder. A daemon that runs as root would change its mode, and lock out other users. */
function refuseSpecialFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== false) return
  throw new StoreError(`${file} is not a regular file.`, 'Set PIPESPAN_STORE_URL to a file in a folder of its own.')
}

/**
 * Creates a folder and its missing parents (0700). File system errors are thrown unchanged. Node's `recursive` option is not used, because it retries
 * forever inside an existing folder that allows no new entries, such as /proc.
 */
export function makeFolder(folder: string): void {
  const wanted = path.resolve(folder)
  if (isFolder(wanted)) return
  const parent = path.dirname(wanted)
  if (parent !== wanted) makeFolder(parent)
  try {
    mkdirSync(wanted, { mode: 0o700 })
  } catch (error) {
    // If the folder exists now, another process has just created it.
    if (!isFolder(wanted)) throw error
  }
  syncFolder(parent)
}

function isFolder(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Waits until the folder's entries are on disk. */
function syncFolder(folder: string): void {
  // Windows cannot open folders, and does not need this sync.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
