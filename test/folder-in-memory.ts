// Creates the folder for the files of a test run in the machine's memory, because these files exist only for seconds. A disk under load makes a
// thousand small stores wait for each of their transactions.
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'

/** The path of Linux's file system in memory. */
const memory = '/dev/shm'
/** The minimum free memory for the folder, bytes. */
const enough = 4 * 2 ** 30

/**
 * Creates a folder in memory. Returns undefined if temporary files are already in memory, or if the machine has no such file system, has little space
 * in it, or cannot run programs from it.
 */
export function folderInMemory(): string | undefined {
  if (tmpdir().startsWith(`${memory}/`)) return undefined
  let folder: string | undefined
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (Math.min(bavail * bsize, freemem()) < enough) return undefined
    folder = mkdtempSync(path.join(memory, 'pipespan-tests-'))
    // The user that PostgreSQL's server runs as must be able to pass through the folder.
    chmodSync(folder, 0o711)
    const program = path.join(folder, 'program')
    writeFileSync(program, '', { mode: 0o755 })
    accessSync(program, constants.X_OK)
    rmSync(program)
    return folder
  } catch {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    return undefined
  }
}
