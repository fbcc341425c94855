// Creates the folder for a test run's files in memory, because these files exist only for seconds. On a busy disk, a thousand small stores would wait
// for each of their transactions.
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'

/** The path of the in-memory file system on Linux. */
const memory = '/dev/shm'
/** The minimum free space for the folder, bytes. */
const enough = 4 * 2 ** 30

/**
 * Creates a folder in memory. Returns undefined if temporary files are in memory anyway, or if the machine's in-memory file system is missing, has
 * too little space or does not allow programs to run.
 */
export function folderInMemory(): string | undefined {
  if (tmpdir().startsWith(`${memory}/`)) return undefined
  let folder: string | undefined
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (Math.min(bavail * bsize, freemem()) < enough) return undefined
    folder = mkdtempSync(path.join(memory, 'pipespan-tests-'))
    // The user that runs the PostgreSQL server must be able to traverse the folder.
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
