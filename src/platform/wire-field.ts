// The kinds of fields on the wire, as zod schemas: what the platform may send in them, and what is made of it.
import { z } from 'zod'
import { parseWireTime } from './wire-time.ts'

/** Longest name, ref, status text and the like that is kept, in UTF-16 units; the rest is cut off. */
export const longestText = 1_024
/** Longest commit message that is kept. */
export const longestMessage = 65_536
/** A longer URL is dropped: cut off it would lead somewhere else. */
export const longestUrl = 4_096
/** Most stages, tags and the like that are kept of one list. */
export const longestList = 1_000
/** Some 30,000 years: what is queued longer is a mistake, and would not fit into milliseconds. */
export const longestSeconds = 1e12

/** An optional field: null and a wrong type are as good as absent. */
export function maybe<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined)
}

/** A positive whole number that JavaScript holds exactly, also given as digits. */
export const wireId = z.union([
  z.int().positive(),
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(z.int().positive()),
])

/** Text that says something: blank is as good as absent. What no database and no encoder takes is taken out. */
export const wireText = textUpTo(longestText)

export const wireMessage = textUpTo(longestMessage)

/** An http(s) URL. Others are dropped: these end as links on pages. */
export const wireUrl = z
  .string()
  .max(longestUrl)
  .regex(/^https?:\/\/[^\s"'<>]+$/i)

/** A status word as it came, this version's or a later one's. */
export const wireStatus = z
  .string()
  .trim()
  .regex(/^\P{C}{1,64}$/u)

export const wireFlag = z.boolean()

/** Seconds, fractional, however absurd. */
export const wireSeconds = z.number().nonnegative().max(longestSeconds)

/** A count of bytes or the like. */
export const wireCount = z.int().nonnegative()

/** Milliseconds of Unix time. */
export const wireTime = z.string().transform(parseWireTime)

/** A list of texts; what is no text is left out of it. */
export const wireTexts = z.array(z.unknown()).transform(items =>
  items
    .slice(0, longestList)
    .map(item => wireText.safeParse(item).data)
    .filter(text => text !== undefined),
)

function textUpTo(length: number) {
  return z
    .string()
    .transform(text => text.slice(0, length).replaceAll('\0', '').toWellFormed())
    .refine(text => text.trim() !== '')
}
