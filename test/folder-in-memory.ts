// Where the files of a run of tests are, which live for seconds: in the machine's memory. A disk under load lets a thousand small stores wait
// for each of their transactions.
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'

/** Where Linux has a file system in memory. */
const memory = '/dev/shm'
/** Bytes. */
const enough = 4 * 2 ** 30

/** A new folder; undefined where temporary files are in memory already, or the machine has no such file system, little room in it, or starts no programs from it. */
export function folderInMemory(): string | undefined {
  if (tmpdir().startsWith(`${memory}/`)) return undefined
  let folder: string | undefined
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (Math.min(bavail * bsize, freemem()) < enough) return undefined
    folder = mkdtempSync(path.join(memory, 'pipespan-tests-'))
    // The user that PostgreSQL's server runs as comes by.
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
