// The progress of a setup, stored in a file in the output folder, so that the setup can be interrupted at any point and run again. The file contains
// no secrets.
import { join } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../../lib/fault.ts'
import { readIfThere, replaceFile } from '../../lib/durable-file.ts'
import { stat } from 'node:fs/promises'
import { makeFolder } from '../../core/store/sqlite/store-file.ts'
import { tryLock, type FileLock } from '../../lib/file-lock.ts'

const shape = z.object({
  version: z.literal(1),
  steps: z.record(
    z.string(),
    z.object({
      state: z.enum(['begun', 'done']),
      at: z.string(),
      facts: z.record(z.string(), z.unknown()).default({}),
    }),
  ),
})
type Entry = z.infer<typeof shape>['steps'][string]

export interface SetupJournal {
  /** Returns undefined if the step has not begun. */
  of(step: string): Entry | undefined
  /** Writes the journal entry of a step: `begun` before the step acts, `done` after it. */
  note(step: string, state: Entry['state'], facts?: Readonly<Record<string, unknown>>): Promise<void>
}

const journalName = 'setup-journal.json'

/** Throws a ConfigError if the file is not a journal. */
export async function openJournal(folder: string, now: () => Date): Promise<SetupJournal> {
  const path = join(folder, journalName)
  const text = await readIfThere(path)
  let journal: z.infer<typeof shape> = { version: 1, steps: {} }
  if (text !== undefined) {
    const parsed = shape.safeParse(jsonOf(text))
    if (!parsed.success) {
      throw new ConfigError(`${path} is not a setup journal.`, 'Use another folder, or move that file away.')
    }
    journal = parsed.data
  }
  return {
    of: step => journal.steps[step],
    note: async (step, state, facts = {}) => {
      const entry = { state, at: now().toISOString(), facts: { ...journal.steps[step]?.facts, ...facts } }
      journal = { ...journal, steps: { ...journal.steps, [step]: entry } }
      await replaceFile(path, `${JSON.stringify(journal, null, 2)}\n`)
    },
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// The folder of a setup: only its owner may write to it, and only one setup may use it at a time.
/** Creates and locks the folder. Throws a ConfigError if other users can write to it (they could plant a secret), or if another setup is using it. */
export async function takeFolder(folder: string): Promise<FileLock> {
  const lock = await onDisk(folder, async () => {
    makeFolder(folder)
    const { mode, uid } = await stat(folder)
    const own = process.getuid?.() ?? uid
    if ((mode & 0o022) !== 0 || (own !== 0 && uid !== own)) {
      throw new ConfigError(
        `Other users can write to ${folder} and could place a secret there that they know.`,
        'Remove their write permission (`chmod go-w`), or use another folder.',
      )
    }
    return tryLock(join(folder, 'setup.lock'))
  })
  if (lock !== undefined) return lock
  throw new ConfigError(`Another setup is running in ${folder}.`, 'Wait until it has finished, or use another folder.')
}

/** Runs the action and converts file system errors into ConfigErrors. */
export async function onDisk<T>(folder: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    const code = diskCodeOf(error)
    if (code === undefined) throw error
    throw new ConfigError(
      `The folder ${folder} cannot be used (${code}).`,
      'Use a folder that this user can write to, on a disk with free space.',
      { cause: error },
    )
  }
}

/** Returns the code of a file system error, such as `EACCES` or `ENOSPC`, or undefined for any other error. */
export function diskCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined
}
