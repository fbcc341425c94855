// Wraps the functions of `wire-read.ts` as zod schemas for API responses.
import { z } from 'zod'
import {
  readCount,
  readId,
  readMessage,
  readPercent,
  readSeconds,
  readStatus,
  readText,
  readTexts,
  readTime,
  readTitle,
  readUrl,
  type Read,
} from '../wire-read.ts'

/** An optional field. Null and a value of the wrong type count as absent. */
export function maybe<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined)
}

/**
 * A boolean field in a response. "A boolean field in a response may be null; null is treated as false" (REST documentation, conventions). A missing
 * field stays undefined.
 */
export const wireFlag = z
  .boolean()
  .nullable()
  .transform(is => is === true)

export const wireId = wire(readId)
export const wireText = wire(readText)
export const wireTitle = wire(readTitle)
export const wireMessage = wire(readMessage)
export const wireUrl = wire(readUrl)
export const wireStatus = wire(readStatus)
export const wireSeconds = wire(readSeconds)
export const wireCount = wire(readCount)
export const wirePercent = wire(readPercent)
/** A time field, which is converted to Unix time in milliseconds. */
export const wireTime = wire(readTime)
export const wireTexts = wire(readTexts)
/** A list whose items are not validated. Even with items of type unknown, zod would take a second to check a million items. */
export const wireList = wire((value): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined))

function wire<T>(read: Read<T>) {
  return z.unknown().transform((value, context): T => {
    const found = read(value)
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: 'no such value' })
    return z.NEVER
  })
}
