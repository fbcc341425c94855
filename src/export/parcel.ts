// One export as bytes, and how several become one request.
import { reasonOf } from '../lib/fault.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'
import type { Chunk } from '../model/chunk.ts'

/**
 * The parts as one protobuf request; empty when there is nothing to tell of them. Called with one part at a time: requests
 * of one kind are joined by joining their bytes (repeated fields of protobuf merge).
 */
export type Encode = (parts: readonly Chunk[]) => Uint8Array

export interface Parcel {
  readonly item: OutboxEntry
  readonly bytes: Uint8Array
}

/** Cannot be encoded: nobody else's fault. */
export interface Misfit {
  readonly item: OutboxEntry
  readonly reason: string
}

/** Encoding gives way to others after so long, ms. */
const breath = 10

/** Encodes one item after the other, as they are asked for. */
export async function* encoded(items: readonly OutboxEntry[], encode: Encode): AsyncGenerator<Parcel | Misfit> {
  let since = performance.now()
  for (const item of items) {
    if (performance.now() - since > breath) {
      await new Promise(resolve => setImmediate(resolve))
      since = performance.now()
    }
    let found: Parcel | Misfit
    try {
      found = { item, bytes: encode([item.chunk]) }
    } catch (error) {
      found = { item, reason: `cannot be encoded: ${reasonOf(error)}` }
    }
    yield found
  }
}

/** One request's body. */
export function joined(parcels: readonly Parcel[]): Uint8Array {
  const [first, ...others] = parcels
  return first !== undefined && others.length === 0 ? first.bytes : Buffer.concat(parcels.map(({ bytes }) => bytes))
}
