// A file that the setup wrote and may write anew, as long as nobody else has: what a person changed, or had there before, is left as it is.
import { createHash } from 'node:crypto'
import { readIfThere, replaceFile } from '../../tokens/durable-file.ts'
import type { SetupJournal } from './journal.ts'
import type { StepOutcome } from './step.ts'

/** `step`: its entry in the journal has the digests of what was written, and of what is about to be. `what`: what the file is. */
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
  // Of the last two: where it was interrupted, either is there.
  await journal.note(step, 'begun', { digests: [...digests.slice(-1), digestOf(content)] })
  await replaceFile(path, content)
  await journal.note(step, 'done')
  return { is: 'done', said: `${what} is ${path}.` }
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}
