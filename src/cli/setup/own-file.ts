// A file that the setup wrote, and may replace as long as nobody has changed it. What a person changed, or had there before, is kept.
import { createHash } from 'node:crypto'
import { readIfThere, replaceFile } from '../../tokens/durable-file.ts'
import type { SetupJournal } from './journal.ts'
import type { StepOutcome } from './step.ts'

/** `step`: its journal entry has the digests of what was written, and of what is about to be written. `what`: names the file in sentences. */
export async function writeOwnFile(
  { journal }: { readonly journal: SetupJournal },
  step: string,
  { path, content, what }: { readonly path: string; readonly content: string; readonly what: string },
): Promise<StepOutcome> {
  const before = await readIfThere(path)
  const known = journal.of(step)?.facts.digests
  const digests = Array.isArray(known) ? known.map(String) : []
  if (before !== undefined && before !== content && !digests.includes(digestOf(before))) {
    if (digests.length === 0) {
      const said = `${path} was not written by this setup and is kept: move it away, or use another folder.`
      return { is: 'waiting', said }
    }
    return { is: 'done', said: `${what} ${path} was changed since and is kept.` }
  }
  // The digests of the last version and of this one: after an interruption the file may be either.
  await journal.note(step, 'begun', { digests: [...digests.slice(-1), digestOf(content)] })
  await replaceFile(path, content)
  await journal.note(step, 'done')
  return { is: 'done', said: `${what} is ${path}.` }
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}
