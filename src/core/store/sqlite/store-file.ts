// Resolves the path of a store. SQLite, the lock and the note of what is being sent have files beside the store, named after it, so each store must be
// opened under one name only, whatever links lead to it.
import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { placeFault, refuseFolder } from './place-fault.ts'
import { StoreError } from '../../../lib/fault.ts'
import { refuseSpecialFile } from './private-place.ts'

/** What is created beside the store has at most so many characters more. */
const maxEnding = '-sending'

/** The path without symbolic links. Throws StoreError if no store can be there, or if the file has hard links or is a mount point itself. */
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

/** Also for a file that does not exist yet. */
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

/** Always false on other systems than Linux. */
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
