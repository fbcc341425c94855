// An outbox entry as the bytes of a request, and how several become one request.
import { reasonOf } from '../lib/fault.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'
import type { AnyChunk } from '../model/event.ts'

/**
 * The chunks as one protobuf request; empty when the signal has nothing of them. Called with one chunk at a time: requests
 * of one signal are joined by joining their bytes (repeated fields of protobuf merge).
 */
export type Encode = (chunks: readonly AnyChunk[]) => Uint8Array

export interface EncodedItem {
  readonly entry: OutboxEntry
  readonly bytes: Uint8Array
}

/** This entry cannot be encoded: no other suffers from it. */
export interface EncodeError {
  readonly entry: OutboxEntry
  readonly reason: string
}

export function encodedItem(entry: OutboxEntry, encode: Encode): EncodedItem | EncodeError {
  try {
    return { entry, bytes: encode([entry.chunk]) }
  } catch (error) {
    return { entry, reason: `cannot be encoded: ${reasonOf(error)}` }
  }
}

/** One request's body. */
export function joined(items: readonly EncodedItem[]): Uint8Array {
  const [first, ...others] = items
  return first !== undefined && others.length === 0 ? first.bytes : Buffer.concat(items.map(({ bytes }) => bytes))
}
