// What is being read, settled or encoded at the moment, noted in a small file beside the store before it is begun: should the process
// die of it, the next one knows. Not forced to the disk: what a process wrote outlives it, and a machine that dies is
// no delivery's fault. A note that cannot be written is done without.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'

/** `Id`: of deliveries a number, of others a name. */
export interface ReadingNote<Id> {
  /** How many processes in a row died reading it alone; undefined where it is under no suspicion. */
  deaths(id: Id): number | undefined
  /** From now on these are read, and no others. */
  begin(ids: readonly Id[]): void
  /** Nothing is read any more, and the process lives: none of them kills. */
  end(): void
  /** One that was not begun is under no suspicion any more. */
  forget(id: Id): void
}

const noteOf = <Id>(id: z.ZodType<Id>) =>
  z.object({
    reading: z.array(id),
    /** Those that are to be read alone, each with its deaths. */
    suspects: z.array(z.tuple([id, z.number()])),
    /** Under which circumstances the deaths were. */
    under: z.string().optional(),
  })

export interface ReadingNoteOptions<Id> {
  /** Undefined for a store in memory. */
  readonly file: string | undefined
  readonly id: z.ZodType<Id>
  /** Of what an earlier process had, what is still to be read. */
  readonly stillWaits: (id: Id) => boolean
  /** Deaths under other circumstances do not count: another version, say, or less memory. */
  readonly under?: string | undefined
}

/** To be opened by the one process that serves the store. */
export function openReadingNote<Id>({ file, id: idOf, stillWaits, under }: ReadingNoteOptions<Id>): ReadingNote<Id> {
  const before = file === undefined ? undefined : read(file, noteOf(idOf))
  const { reading = [], suspects = [] } = before?.under === under ? (before ?? {}) : {}
  const deaths = new Map(suspects)
  const [only] = reading
  // Of several that were read together nobody knows which it was: each is read alone, until it is processed.
  if (reading.length === 1 && only !== undefined) deaths.set(only, (deaths.get(only) ?? 0) + 1)
  else for (const id of reading) deaths.set(id, deaths.get(id) ?? 0)
  for (const id of deaths.keys()) if (!stillWaits(id)) deaths.delete(id)
  let now: readonly Id[] = []
  let descriptor: number | undefined

  function write(): void {
    if (file === undefined) return
    try {
      descriptor ??= openSync(file, 'w', 0o600)
      // One write at the beginning, whatever longer note stood there: a line is the whole of it.
      writeSync(descriptor, `${JSON.stringify({ reading: now, suspects: [...deaths], under })}\n`, 0)
    } catch {
      // The disk is full, or gone: then deaths are not counted for a while.
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
    // There is none yet, or the machine died while it was written.
    return undefined
  }
}
