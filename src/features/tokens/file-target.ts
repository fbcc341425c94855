// Stores an ingest token in a file. The token is replaced by an atomic rename; the journal and the lock are files next to it.
import { realpath, rm } from 'node:fs/promises'
import { Fault, reasonOf } from '../../lib/fault.ts'
import { Secret } from '../../lib/secret.ts'
import { readIfThere, replaceFile } from '../../lib/durable-file.ts'
import { tryLock, type FileLock } from '../../lib/file-lock.ts'
import { parseJournal, RotationError } from './journal.ts'
import { RotationBusy, type Target, type TargetContent } from './target.ts'

/** The file `PATH` contains only the token. `PATH.rotation.json` is the journal, and `PATH.rotation.lock` is the lock. */
export function createFileTarget(path: string): Target {
  const address = `file:${path}`

  /** Symbolic links are followed: the linked file is replaced, and several links to one file share its journal. */
  const real = async () => await realpath(path).catch(() => path)

  async function read(file: string): Promise<TargetContent> {
    const value = (await readIfThere(file))?.trim()
    const journalPath = `${file}.rotation.json`
    const journal = await readIfThere(journalPath)
    return {
      value: value === undefined || value === '' ? undefined : new Secret(value),
      journal: journal === undefined ? undefined : parseJournal(journal, journalPath),
    }
  }

  async function guarded<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw error instanceof Fault ? error : errorOfFile(action, error)
    }
  }

  return {
    address,
    minGraceMs: 0,
    peek: () => guarded(`read ${path}`, async () => await read(await real())),
    lock: () =>
      guarded(`lock ${path}`, async () => {
        const file = await real()
        const lock = tryLock(`${file}.rotation.lock`)
        if (lock === undefined) throw new RotationBusy(address, 'it holds the lock next to the file')
        // If a rotation was killed before the rename, the `.new` file still contains its unused token.
        await rm(`${file}.new`, { force: true }).catch((error: unknown) => releaseAnd(lock, error))
        return {
          read: () => guarded(`read ${path}`, () => read(file)),
          write: value => guarded(`write ${path}`, () => replaceFile(file, value.reveal())),
          save: journal =>
            guarded(`write the journal of ${path}`, () =>
              replaceFile(`${file}.rotation.json`, `${JSON.stringify(journal, null, 2)}\n`),
            ),
          renew: async () => undefined,
          release: async () => lock.release(),
        }
      }),
  }
}

function releaseAnd(lock: FileLock, error: unknown): never {
  lock.release()
  throw error
}

function errorOfFile(action: string, error: unknown): RotationError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const remedy =
    code === 'EROFS'
      ? 'The folder is mounted read-only; for a mounted Kubernetes Secret use --target kubernetes:NAMESPACE/SECRET/KEY.'
      : code === 'ENOENT'
        ? 'Create the folder first.'
        : code === 'EPERM'
          ? 'Run as root, or as the owner of the file, so that the daemon can still read it.'
          : 'The user of this process must be able to read and write the file and its folder.'
  return new RotationError(`Could not ${action}: ${reasonOf(error)}.`, remedy)
}
