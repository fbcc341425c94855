// The folder of a setup: only its owner may write to it, and one setup at a time works in it.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../../lib/fault.ts'
import { makeFolder } from '../../core/store/sqlite/store-file.ts'
import { tryLock, type FileLock } from '../../lib/file-lock.ts'

/** Creates and locks it. Throws a ConfigError if others can write to it (they could plant a secret), or another setup works in it. */
export async function takeFolder(folder: string): Promise<FileLock> {
  const lock = await onDisk(folder, async () => {
    makeFolder(folder)
    const { mode, uid } = await stat(folder)
    const own = process.getuid?.() ?? uid
    if ((mode & 0o022) !== 0 || (own !== 0 && uid !== own)) {
      throw new ConfigError(
        `Others can write to ${folder}, and could put a secret there that they know.`,
        'Remove that right (`chmod go-w`), or use another folder.',
      )
    }
    return tryLock(join(folder, 'setup.lock'))
  })
  if (lock !== undefined) return lock
  throw new ConfigError(`Another setup is running in ${folder}.`, 'Wait for it, or use another folder.')
}

/** Turns errors of the file system into ConfigErrors. */
export async function onDisk<T>(folder: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    const code = diskCodeOf(error)
    if (code === undefined) throw error
    throw new ConfigError(
      `The folder ${folder} cannot be used (${code}).`,
      'Use one that this user can write to, on a disk with free space.',
      { cause: error },
    )
  }
}

/** The code of an error of the file system, such as `EACCES` or `ENOSPC`; undefined for any other error. */
export function diskCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined
}
