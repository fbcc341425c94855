// Encodes outbox entries, and joins several into one request.
import { reasonOf } from '../lib/fault.ts'
import type { HeaderValues } from './destination.ts'
import type { OutboxEntry } from '../store/ports/outbox.ts'
import type { AnyChunk } from '../model/event.ts'

/**
 * The chunks as one protobuf request; empty if they have nothing for the signal. Called with one chunk at a time: concatenated requests of one signal
 * are one request, because repeated fields of protobuf merge. Chunks of one moment are encoded again, together, when they go into one request, because
 * equal points of metrics are joined.
 */
export interface Encode {
  (chunks: readonly AnyChunk[]): Uint8Array
  /** Undefined, or without it: the chunk has nothing in common with others. */
  readonly momentOf?: (chunk: AnyChunk) => number | undefined
}

export interface EncodedItem {
  readonly entry: OutboxEntry
  /** For the templates of the headers. */
  readonly values?: HeaderValues | undefined
  readonly bytes: Uint8Array
}

/** An entry that cannot be encoded. */
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

/** Divides items into requests of at most `limit` bytes and of the same headers, in their order; a larger one is alone. */
export function packed<Item extends Pick<EncodedItem, 'bytes' | 'values'>>(
  items: readonly Item[],
  limit: number,
): Item[][] {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const headers = item.values === undefined ? '' : JSON.stringify(item.values)
    const group = groups.get(headers)
    if (group === undefined) groups.set(headers, [item])
    else group.push(item)
  }
  return [...groups.values()].flatMap(group => packedBySize(group, limit))
}

function packedBySize<Item extends Pick<EncodedItem, 'bytes'>>(items: readonly Item[], limit: number): Item[][] {
  const packs: Item[][] = []
  let size = Infinity
  for (const item of items) {
    size += item.bytes.length
    if (size > limit) {
      packs.push([])
      size = item.bytes.length
    }
    packs.at(-1)?.push(item)
  }
  return packs
}

/** One request's body. */
export function joined(items: readonly EncodedItem[], encode: Encode): Uint8Array {
  const [first, ...others] = items
  if (first !== undefined && others.length === 0) return first.bytes
  // An item without a moment is a group of its own.
  const moments = Map.groupBy(items, item => encode.momentOf?.(item.entry.chunk) ?? item)
  return Buffer.concat(
    [...moments.values()].flatMap(some =>
      some.length === 1 ? some.map(({ bytes }) => bytes) : encode(some.map(({ entry }) => entry.chunk)),
    ),
  )
}
