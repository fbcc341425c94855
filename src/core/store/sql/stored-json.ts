// Parses stored JSON. If parsing throws, the row is damaged (`damaged-rows.ts`).
import type { z } from 'zod'
import { DataError } from '../../../lib/fault.ts'
import { isEvent, type AnyChunk } from '../../../model/event.ts'
import type { Chunk } from '../../../model/chunk.ts'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Parses stored JSON. Throws DataError with a message that contains no part of the JSON. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows the type, which depends on the column
export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T
  } catch {
    throw damagedData()
  }
}

export function damagedData(): DataError {
  return new DataError(
    'The stored data is damaged.',
    'Other rows are not affected; a backup may still have this one intact.',
  )
}

/** Parses a stored document. Throws DataError if the document does not match `shape`. */
export function storedDocument<T>(text: unknown, shape: z.ZodType<T>): T {
  const { success, data } = shape.safeParse(storedJson(text))
  return success ? data : storedJson('')
}

/** Parses a chunk of a snapshot or an event. Throws DataError if the JSON is damaged. */
export function storedAny(text: unknown): AnyChunk {
  const chunk = storedJson<AnyChunk | null>(text)
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- any field of a damaged row may be missing
  return chunk !== null && isEvent(chunk) && chunk.event !== undefined ? chunk : storedChunk(text)
}

/**
 * Parses a chunk of a snapshot, or a chunk with job internals (such as log sections). Only its essential fields are checked. Throws DataError if the
 * JSON is damaged.
 */
export function storedChunk(text: unknown): Chunk {
  const chunk = storedJson<Partial<Chunk> | null>(text)
  return isObject(chunk?.inside) && isObject(chunk?.pipeline) ? (chunk as Chunk) : storedJson('')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/**
 * Returns the content as a list whose entries all pass the check. Otherwise throws DataError, for example if an earlier build wrote another format.
 */
export function storedList<T>(content: unknown, isOne: (entry: T) => boolean): readonly T[] {
  try {
    if (Array.isArray(content) && content.every(isOne)) return content as readonly T[]
  } catch {
    // The check itself threw an error, because it accessed a property of a missing field.
  }
  throw damagedData()
}

// Documents in binary columns. They are compressed JSON, because run documents repeat the same names and URLs many times (decision 116).

/** The lowest compression level. Higher levels take several times as long and save only a tenth of the bytes. */
const fastCompression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function documentBytes(value: unknown): Uint8Array {
  return zstdCompressSync(JSON.stringify(value), fastCompression)
}

/** Decodes a compressed document without validating it. Throws DataError if the document is damaged. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows the type, which depends on the column
export function documentOf<T>(bytes: Uint8Array): T {
  try {
    return JSON.parse(zstdDecompressSync(bytes).toString()) as T
  } catch {
    throw damagedData()
  }
}
