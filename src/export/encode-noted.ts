// Encodes the entries of a batch, which are noted before: should the process die of one, the next one knows. An entry that several
// processes in a row died of is not tried again.
import PQueue from 'p-queue'
import { encodedItem, type Encode, type EncodedItem, type EncodeError } from './encoded-item.ts'
import { mostDeaths, type UnderWayNote } from '../store/ports/under-way.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'

/** All of them, in their order but for suspects, which come last. They stay within a lease's bytes (`QueueLimits`). */
export type EncodeNoted = (
  entries: readonly OutboxEntry[],
  encode: Encode,
) => Promise<readonly (EncodedItem | EncodeError)[]>

/** After so long encoding lets the event loop do other work, ms. */
const longestTurn = 10

/** One for all queues: while a batch is encoded no other is, so that the note says whose fault a death is. */
export function createEncodeNoted(note: UnderWayNote): EncodeNoted {
  const oneByOne = new PQueue({ concurrency: 1 })

  async function all(entries: readonly OutboxEntry[], encode: Encode): Promise<(EncodedItem | EncodeError)[]> {
    const suspects = new Set(await note.begin(entries.map(nameOf)))
    const found: (EncodedItem | EncodeError)[] = []
    try {
      const free = suspects.size === 0 ? entries : entries.filter(entry => !suspects.has(nameOf(entry)))
      let since = performance.now()
      for (const entry of free) {
        if (performance.now() - since > longestTurn) {
          await new Promise(resolve => setImmediate(resolve))
          since = performance.now()
        }
        found.push(encodedItem(entry, encode))
      }
    } finally {
      await note.end()
    }
    if (suspects.size === 0) return found
    for (const entry of entries.filter(one => suspects.has(nameOf(one)))) found.push(await suspect(entry, encode))
    return found
  }

  async function suspect(entry: OutboxEntry, encode: Encode): Promise<EncodedItem | EncodeError> {
    const name = nameOf(entry)
    if ((await note.beginAlone(name)) >= mostDeaths) {
      await note.forget(name)
      const reason = `${mostDeaths} times in a row the daemon's process died while it encoded this`
      return { entry, reason }
    }
    try {
      return encodedItem(entry, encode)
    } finally {
      await note.end()
    }
  }

  return async (entries, encode) => (entries.length === 0 ? [] : oneByOne.add(() => all(entries, encode)))
}

function nameOf({ id }: OutboxEntry): string {
  return String(id)
}
