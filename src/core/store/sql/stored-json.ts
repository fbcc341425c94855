// Reads stored JSON. If it throws, the row is damaged (`damaged-rows.ts`).
import type { z } from 'zod'
import { DataError } from '../../../lib/fault.ts'
import { isEvent, type AnyChunk } from '../../../model/event.ts'
import type { Chunk } from '../../../model/chunk.ts'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Throws DataError, without any part of the text. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the column says what it holds, not the text
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

/** Throws DataError if the document has another shape. */
export function storedDocument<T>(text: unknown, shape: z.ZodType<T>): T {
  const { success, data } = shape.safeParse(storedJson(text))
  return success ? data : storedJson('')
}

/** A chunk of a snapshot or an event. Throws DataError. */
export function storedAny(text: unknown): AnyChunk {
  const chunk = storedJson<AnyChunk | null>(text)
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- of a damaged row anything may be missing
  return chunk !== null && isEvent(chunk) && chunk.event !== undefined ? chunk : storedChunk(text)
}

/** What was read about the inside of a job; only its essential fields are checked. Throws DataError. */
export function storedChunk(text: unknown): Chunk {
  const chunk = storedJson<Partial<Chunk> | null>(text)
  return isObject(chunk?.inside) && isObject(chunk?.pipeline) ? (chunk as Chunk) : storedJson('')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** A list whose entries all pass. Throws DataError if it is none: an earlier build may have written another form. */
export function storedList<T>(content: unknown, isOne: (entry: T) => boolean): readonly T[] {
  try {
    if (Array.isArray(content) && content.every(isOne)) return content as readonly T[]
  } catch {
    // The check has read a field that is missing.
  }
  throw damagedData()
}

// Documents of a column of bytes: JSON, compressed, because the documents of runs repeat the same names and addresses over and over (decision 116).

/** The lowest level: higher ones take several times as long for a tenth fewer bytes. */
const quick = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function documentBytes(value: unknown): Uint8Array {
  return zstdCompressSync(JSON.stringify(value), quick)
}

/** Its shape is not checked. Throws DataError if it is damaged. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the column says what it holds, not the bytes
export function documentOf<T>(bytes: Uint8Array): T {
  try {
    return JSON.parse(zstdDecompressSync(bytes).toString()) as T
  } catch {
    throw damagedData()
  }
}
