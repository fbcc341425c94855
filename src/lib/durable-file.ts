// Replaces files atomically and durably, even if the machine loses power.
import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from './fault.ts'

/**
 * Replaces the content of a file atomically, with mode 600: it writes a new file, syncs it, renames it over the old file and syncs the folder. The
 * file's owner is preserved, because the daemon that reads the file may run as another user. The temporary file has a fixed name, so that the next
 * run overwrites the file left by a killed process. The caller's lock prevents two concurrent writers.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  if ((await stat(path).catch(ifMissing))?.isFile() === false)
    throw new ConfigError(`${path} is not a regular file.`, 'Use a file in a folder of its own.')
  const beside = `${path}.new`
  await rm(beside, { force: true })
  const file = await open(beside, 'wx', 0o600)
  try {
    await file.chmod(0o600)
    await keepOwner(path, file)
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(beside, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Returns the content of the file; undefined if the file does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(ifMissing)
}

async function keepOwner(path: string, file: FileHandle): Promise<void> {
  const former = await stat(path).catch(ifMissing)
  if (former === undefined) return
  const { uid } = await file.stat()
  if (former.uid !== uid) await file.chown(former.uid, former.gid)
}

function ifMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
