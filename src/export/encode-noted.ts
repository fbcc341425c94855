// Notes the entries of a batch, then encodes them, so that after a crash the next process knows which entries were being encoded. An entry
// that crashed several processes in a row is not tried again.
import PQueue from 'p-queue'
import { encodedItem, type Encode, type EncodedItem, type EncodeError } from './encoded-item.ts'
import { maxDeaths, type UnderWayNote } from '../store/ports/under-way.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'

/** In their order, except for suspects, which come last. */
export type EncodeNoted = (
  entries: readonly OutboxEntry[],
  encode: Encode,
) => Promise<readonly (EncodedItem | EncodeError)[]>

/** How long encoding may block the event loop, ms. */
const maxTurn = 10

/** Shared by all queues: only one batch is encoded at a time, so that the note shows which one crashed the process. */
export function createEncodeNoted(note: UnderWayNote): EncodeNoted {
  const oneByOne = new PQueue({ concurrency: 1 })

  async function all(entries: readonly OutboxEntry[], encode: Encode): Promise<(EncodedItem | EncodeError)[]> {
    const suspects = new Set(await note.begin(entries.map(nameOf)))
    const found: (EncodedItem | EncodeError)[] = []
    try {
      const free = suspects.size === 0 ? entries : entries.filter(entry => !suspects.has(nameOf(entry)))
      let since = performance.now()
      for (const entry of free) {
        if (performance.now() - since > maxTurn) {
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
    if ((await note.beginAlone(name)) >= maxDeaths) {
      await note.forget(name)
      const reason = `${maxDeaths} times in a row the daemon's process died while it encoded this`
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
