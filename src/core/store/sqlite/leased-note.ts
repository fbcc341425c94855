// Which outbox entries are leased, in a small file beside the store: what a killed process had leased may have been sent, and the next one counts it as
// repeated. Without fsync: a written file survives its process. If the note cannot be written, nothing is counted.
import { openSync, readFileSync, writeSync } from 'node:fs'

export interface LeasedNote {
  /** True once for an entry that was leased when an earlier process ended. */
  wasLeased(id: number): boolean
  /** From now on exactly these are leased. */
  write(ids: readonly number[]): void
}

/** `file`: undefined for a store in memory, and for commands. `isPending`: ids of others may have been given again. */
export function openLeasedNote(file: string | undefined, isPending: (id: number) => boolean): LeasedNote {
  const before = new Set(file === undefined ? [] : read(file).filter(isPending))
  let descriptor: number | undefined
  return {
    wasLeased: id => before.delete(id),
    write: ids => {
      if (file === undefined) return
      try {
        descriptor ??= openSync(file, 'w', 0o600)
        // One write at offset 0; only the first line counts, so the rest of a longer note does not matter.
        writeSync(descriptor, `${JSON.stringify([...ids, ...before])}\n`, 0)
      } catch {
        // The disk is full or missing.
      }
    },
  }
}

function read(file: string): number[] {
  try {
    const [line = ''] = readFileSync(file, 'utf8').split('\n', 1)
    return (JSON.parse(line) as unknown[]).map(Number).filter(Number.isSafeInteger)
  } catch {
    // There is no note yet, or the machine crashed while it was written.
    return []
  }
}
