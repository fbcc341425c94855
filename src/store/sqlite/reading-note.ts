// Notes about work in progress, in a small file beside the store, written before the work begins: if an item makes the process crash, the next
// process knows. Without fsync: a written file survives its process, and a crash of the machine is not blamed on an item. If the note cannot be
// written, the work is done without it.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'

/** `Id`: a number for deliveries, else a name. */
export interface ReadingNote<Id> {
  /** How many consecutive processes crashed while they worked on it alone; undefined: it is not suspected. */
  deaths(id: Id): number | undefined
  /** From now on exactly these are in progress. */
  begin(ids: readonly Id[]): void
  /** The process has survived the work: none of them is suspected any more. */
  end(): void
  /** The item is not suspected any more. */
  forget(id: Id): void
}

const noteOf = <Id>(id: z.ZodType<Id>) =>
  z.object({
    reading: z.array(id),
    /** Items that must be worked on alone, each with its number of crashes. */
    suspects: z.array(z.tuple([id, z.number()])),
    /** The circumstances of the crashes. */
    under: z.string().optional(),
  })

interface ReadingNoteOptions<Id> {
  /** Undefined for a store in memory. */
  readonly file: string | undefined
  readonly id: z.ZodType<Id>
  /** False for an item that is processed by now. */
  readonly stillWaits: (id: Id) => boolean
  /** Crashes under other circumstances do not count, such as another version or less memory. */
  readonly under?: string | undefined
}

/** Only for the process that serves the store. */
export function openReadingNote<Id>({ file, id: idOf, stillWaits, under }: ReadingNoteOptions<Id>): ReadingNote<Id> {
  const before = file === undefined ? undefined : read(file, noteOf(idOf))
  const { reading = [], suspects = [] } = before?.under === under ? (before ?? {}) : {}
  const deaths = new Map(suspects)
  const [only] = reading
  // If there were several items, the cause is unknown: each becomes a suspect.
  if (reading.length === 1 && only !== undefined) deaths.set(only, (deaths.get(only) ?? 0) + 1)
  else for (const id of reading) deaths.set(id, deaths.get(id) ?? 0)
  for (const id of deaths.keys()) if (!stillWaits(id)) deaths.delete(id)
  let now: readonly Id[] = []
  let descriptor: number | undefined

  function write(): void {
    if (file === undefined) return
    try {
      descriptor ??= openSync(file, 'w', 0o600)
      // One write at offset 0; only the first line counts, so the rest of a longer note does not matter.
      writeSync(descriptor, `${JSON.stringify({ reading: now, suspects: [...deaths], under })}\n`, 0)
    } catch {
      // The disk is full or missing: then crashes are not counted.
    }
  }

  return {
    deaths: id => deaths.get(id),
    begin: ids => {
      now = ids
      write()
    },
    end: () => {
      for (const id of now) deaths.delete(id)
      now = []
      write()
    },
    forget: id => {
      if (deaths.delete(id)) write()
    },
  }
}

function read<Note>(file: string, note: z.ZodType<Note>): Note | undefined {
  try {
    const [line = ''] = readFileSync(file, 'utf8').split('\n', 1)
    return note.parse(JSON.parse(line))
  } catch {
    // There is no note yet, or the machine crashed while it was written.
    return undefined
  }
}
