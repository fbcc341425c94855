// The progress of a setup, in a file beside what it writes, so that it can be interrupted at any point and run again. It has no secrets.
import { join } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../../lib/fault.ts'
import { readIfThere, replaceFile } from '../../lib/durable-file.ts'

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
  /** Undefined: the step was not begun. */
  of(step: string): Entry | undefined
  /** `begun` is written before a step acts, `done` after it. */
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
