// Makes messages of chunks, and bodies of requests of messages.
//
// A message is stored as zstd, which takes half the time of gzip. A request's body is compressed as a whole, because receivers differ in what they
// read of several gzip members one after the other: some stop at the end of the first (decision 118).
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { joinMetrics } from '../telemetry/encode.ts'
import type { AnyChunk } from '../../model/event.ts'
import type { EncodeMessages, ExportQueue, Signal } from '../store/ports/outbox.ts'

/** Encodes a chunk as the request of one signal; empty if the chunk has nothing for that signal. */
export type Encode = (chunk: AnyChunk) => Uint8Array

const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** Most messages fit, even those of 20 jobs. A larger one needs another step and a copy, which takes half as long again. */
const unpacking = { chunkSize: 64 * 1024 }

/** `encoderOf`: queues with the same encoder share their messages; undefined for a queue that is no longer configured. */
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

/** The request in a stored message. Throws if it is damaged. */
export function requestOf(body: Uint8Array): Uint8Array {
  return zstdDecompressSync(body, unpacking)
}

/** Frees the memory of a request that nobody uses any more, as `giveBack` does: zlib gives each request its own buffer, which is larger. */
export function release(request: Uint8Array): void {
  if (request.buffer instanceof ArrayBuffer) request.buffer.transfer(0)
}

/**
 * Joins several requests of a signal. Concatenation joins them, as repeated fields of protobuf merge; but a backend takes only one point for a series
 * and a time.
 */
export function joined(signal: Signal, requests: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = requests
  if (first !== undefined && others.length === 0) return first
  return signal === 'metrics' ? joinMetrics(requests) : Buffer.concat(requests)
}
