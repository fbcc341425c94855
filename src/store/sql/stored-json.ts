// What is stored as JSON, as it is read back. A row that was damaged on its disk is that row's loss alone: whoever goes through many
// rows passes it over, and it is named once in the log and counted.
import type { z } from 'zod'
import { DataError, isOfTheData } from '../../lib/fault.ts'
import { isEvent, type AnyChunk } from '../../model/event.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Log } from '../../lib/log.ts'

export interface DamagedRows {
  /** How many were met since start. */
  readonly count: number
  /**
   * What `read` makes of a stored row; undefined where the row is damaged. `row`: its names, for the log. `consequence`: what
   * becomes of it. Errors of the database itself pass.
   */
  orNothing<T>(row: Readonly<Record<string, unknown>>, consequence: string, read: () => T): T | undefined
}

/** Rows remembered, so that each is reported once. */
const mostNamed = 10_000

export function createDamagedRows(log: Log | undefined): DamagedRows {
  const named = new Set<string>()
  return {
    get count() {
      return named.size
    },
    orNothing: (row, consequence, read) => {
      try {
        return read()
      } catch (error) {
        if (!isOfTheData(error)) throw error
        const name = JSON.stringify(row)
        if (!named.has(name) && named.size < mostNamed) {
          named.add(name)
          log?.error({ ...row, consequence }, 'a row of the store is damaged')
        }
        return undefined
      }
    },
  }
}

/** Throws DataError, which repeats nothing of the text. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the column says what it holds, not the text
export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T
  } catch {
    throw new DataError(
      'The stored data is damaged.',
      'Other rows are not affected; a backup may still have this one intact.',
    )
  }
}

/** A document of the shape that it must have. Throws DataError. */
export function storedDocument<T>(text: unknown, shape: z.ZodType<T>): T {
  const { success, data } = shape.safeParse(storedJson(text))
  return success ? data : storedJson('')
}

/** Whatever an outbox entry is to send. Throws DataError. */
export function storedAny(text: unknown): AnyChunk {
  const chunk = storedJson<AnyChunk | null>(text)
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- of a damaged row anything may be missing
  return chunk !== null && isEvent(chunk) && chunk.event !== undefined ? chunk : storedChunk(text)
}

/** A chunk of a snapshot: checked as far as it takes to know it from anything else. Throws DataError. */
export function storedChunk(text: unknown): Chunk {
  const chunk = storedJson<Partial<Chunk> | null>(text)
  const isWhole = Array.isArray(chunk?.jobs) && chunk.key !== undefined && chunk.pipeline !== undefined
  return isWhole ? (chunk as Chunk) : storedJson('')
}
