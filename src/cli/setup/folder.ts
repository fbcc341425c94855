// The folder of a setup: its owner's alone, and one setup at a time.
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../../lib/fault.ts'
import { tryLock, type FileLock } from '../../tokens/file-lock.ts'

/** Makes it where it is missing. Throws a ConfigError where others could plant a secret in it, or another setup works there. */
export async function takeFolder(folder: string): Promise<FileLock> {
  const lock = await onDisk(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
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

/** What the file system refuses, as a ConfigError. */
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

/** `EACCES`, `ENOSPC`, …: of what the file system refused; undefined for any other error. */
export function diskCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined
}
