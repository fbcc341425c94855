// Which deliveries are being read at the moment, noted in a small file beside the store before they are read: should the process
// die of one of them, the next one knows. Not forced to the disk: what a process wrote outlives it, and a machine that dies is
// no delivery's fault. A note that cannot be written is done without.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'

export interface ReadingNote {
  /** How many processes in a row died reading it alone; undefined where it is under no suspicion. */
  deaths(id: number): number | undefined
  /** From now on these are read, and no others. */
  begin(ids: readonly number[]): void
  /** Nothing is read any more, and the process lives: none of them kills. */
  end(): void
}

const note = z.object({
  reading: z.array(z.number()),
  /** Deliveries that are to be read alone, each with its deaths. */
  suspects: z.array(z.tuple([z.number(), z.number()])),
})

/**
 * To be opened by the one process that serves the store. `file`: undefined for a store in memory. `stillWaits`: of an earlier
 * process's deliveries, which are still to be read.
 */
export function openReadingNote(file: string | undefined, stillWaits: (id: number) => boolean): ReadingNote {
  const { reading, suspects } = file === undefined ? { reading: [], suspects: [] } : read(file)
  const deaths = new Map(suspects)
  const [only] = reading
  // Of several that were read together nobody knows which it was: each is read alone, until it is processed.
  if (reading.length === 1 && only !== undefined) deaths.set(only, (deaths.get(only) ?? 0) + 1)
  else for (const id of reading) deaths.set(id, deaths.get(id) ?? 0)
  for (const id of deaths.keys()) if (!stillWaits(id)) deaths.delete(id)
  let now: readonly number[] = []
  let descriptor: number | undefined

  function write(): void {
    if (file === undefined) return
    try {
      descriptor ??= openSync(file, 'w', 0o600)
      // One write at the beginning, whatever longer note stood there: a line is the whole of it.
      writeSync(descriptor, `${JSON.stringify({ reading: now, suspects: [...deaths] })}\n`, 0)
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
  }
}

function read(file: string): z.infer<typeof note> {
  try {
    const [line = ''] = readFileSync(file, 'utf8').split('\n', 1)
    return note.parse(JSON.parse(line))
  } catch {
    // There is none yet, or the machine died while it was written.
    return { reading: [], suspects: [] }
  }
}
