// Encodes chunks as messages, and joins messages into request bodies.
//
// A message is stored as zstd, which takes half the time of gzip. The body of a request is compressed as a whole, because receivers differ in how
// they read several consecutive gzip members: some stop at the end of the first (decision 118).
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { joinMetrics } from '../telemetry/encode.ts'
import type { AnyChunk } from '../../model/event.ts'
import type { EncodeMessages, ExportQueue, Signal } from '../store/ports/outbox.ts'

/** Encodes a chunk as a request of one signal. The result is empty if the chunk has no data for that signal. */
export type Encode = (chunk: AnyChunk) => Uint8Array

const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/**
 * The buffer size for decompression. Most messages fit, even those with 20 jobs. The decompression of a larger message needs another step and a copy,
 * and takes one and a half times as long.
 */
const unpacking = { chunkSize: 64 * 1024 }

/**
 * Creates the function that encodes the messages of a chunk. `encoderOf` returns the encoder of a queue, or undefined for a queue that is no longer
 * configured. Queues with the same encoder share their messages.
 */
export function messagesBy(encoderOf: (queue: ExportQueue) => Encode | undefined): EncodeMessages {
  return (chunk, to) =>
    [...Map.groupBy(to, encoderOf)].flatMap(([encode, queues]) => {
      const [first] = queues
      const plain = encode?.(chunk)
      if (first === undefined || plain === undefined || plain.length === 0) return []
      const destinations = queues.map(({ destination }) => destination)
      return [{ signal: first.signal, body: zstdCompressSync(plain, fast), destinations }]
    })
}

/** Decompresses the request in a stored message. Throws if the message is damaged. */
export function requestOf(body: Uint8Array): Uint8Array {
  return zstdDecompressSync(body, unpacking)
}

/**
 * Releases the memory of a decompressed request that is no longer used. `giveBack` would not release it: it skips slices of larger buffers, and zlib
 * allocates a larger buffer for each request.
 */
export function release(request: Uint8Array): void {
  if (request.buffer instanceof ArrayBuffer) request.buffer.transfer(0)
}

/**
 * Joins several requests for a signal. For most signals it is enough to concatenate them, because repeated protobuf fields merge. Metrics are merged
 * point by point, because a backend accepts only one point for each series and time.
 */
export function joined(signal: Signal, requests: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = requests
  if (first !== undefined && others.length === 0) return first
  return signal === 'metrics' ? joinMetrics(requests) : Buffer.concat(requests)
}
