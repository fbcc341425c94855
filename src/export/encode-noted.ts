// Encodes the entries of a batch, in turns of the event loop.
import PQueue from 'p-queue'
import { encodedItem, type Encode, type EncodedItem, type EncodeError } from './encoded-item.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'

/** In their order. */
export type EncodeNoted = (
  entries: readonly OutboxEntry[],
  encode: Encode,
) => Promise<readonly (EncodedItem | EncodeError)[]>

/** How long encoding may block the event loop, ms. */
const maxTurn = 10

/** Shared by all queues: one batch is encoded at a time. */
export function createEncodeNoted(): EncodeNoted {
  const oneByOne = new PQueue({ concurrency: 1 })

  async function all(entries: readonly OutboxEntry[], encode: Encode): Promise<(EncodedItem | EncodeError)[]> {
    const found: (EncodedItem | EncodeError)[] = []
    let since = performance.now()
    for (const entry of entries) {
      if (performance.now() - since > maxTurn) {
        await new Promise(resolve => setImmediate(resolve))
        since = performance.now()
      }
      found.push(encodedItem(entry, encode))
    }
    return found
  }

  return async (entries, encode) => (entries.length === 0 ? [] : oneByOne.add(async () => all(entries, encode)))
}
