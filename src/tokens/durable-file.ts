// Files that are written whole or not at all, and stay written when the machine loses power.
import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Replaces the file's content in one go, mode 600: written beside it, synced, renamed over it, the folder synced. An
 * owner other than this process is kept, since the daemon that reads the file may be one. The file beside it has a
 * fixed name: what a killed process leaves there is overwritten by the next one, which the caller's lock keeps alone.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
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

/** The file's text, undefined when there is none. */
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
