// Schemas of spans in OTLP/JSON (opentelemetry-proto, "JSON Protobuf Encoding": IDs are hex, and 64-bit numbers may be strings). A span is invalid if
// a required field has an invalid value; unknown fields are ignored. Attributes are read without zod, because a span may have thousands of them.
import { z } from 'zod'
import { objectOf } from './json-documents.ts'
import type { OwnAttributes, OwnValue } from '../../model/own-span.ts'

/** Maximum length of an attribute key, UTF-16 units. */
const maxKey = 255
/** Maximum number of elements in an attribute's array value. */
const maxElements = 64

const instant = z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative().transform(String)])
/** Converts nanoseconds to milliseconds, rounded down to whole microseconds. */
const nanos = instant.transform(text => Number(BigInt(text) / 1_000n) / 1_000)
const hexId = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`))
    .transform(id => id.toLowerCase())
    .refine(id => !/^0+$/.test(id))

/**
 * Returns the value of an attribute; undefined if it is invalid. Maps are converted to JSON text, and so are lists that contain anything other than
 * strings.
 */
function valueOf(given: unknown): OwnValue | undefined {
  const { stringValue, boolValue, bytesValue, intValue, doubleValue, arrayValue, kvlistValue } = objectOf(given)
  if (typeof stringValue === 'string') return stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (Number.isSafeInteger(intValue) || (typeof intValue === 'string' && /^-?\d{1,20}$/.test(intValue)))
    return { int: String(intValue) }
  if (typeof doubleValue === 'number' && Number.isFinite(doubleValue)) return { double: doubleValue }
  if (typeof bytesValue === 'string') return bytesValue
  const other = arrayValue ?? kvlistValue
  return other === undefined ? undefined : (textsOf(arrayValue) ?? jsonOf(other))
}

/** Returns the value as JSON text; undefined if it is too deeply nested to be serialized. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Returns the list if all its elements are strings; otherwise undefined. */
function textsOf(list: unknown): readonly string[] | undefined {
  const { values = [] } = objectOf(list)
  if (list === undefined || !Array.isArray(values)) return undefined
  const texts = (values as unknown[]).slice(0, maxElements).map(one => objectOf(one).stringValue)
  return texts.every(text => typeof text === 'string') ? texts : undefined
}

/** Attributes with invalid values are dropped. */
const attributes = z
  .array(z.unknown())
  .optional()
  .transform((list = []) => list.flatMap(attributeOf))

function attributeOf(item: unknown): OwnAttributes {
  const { key, value } = objectOf(item)
  const read = valueOf(value)
  return typeof key === 'string' && key !== '' && key.length <= maxKey && read !== undefined ? [[key, read]] : []
}

const count = z.int().nonnegative().optional().catch(undefined)

export const otlpSpan = z.object({
  traceId: hexId(32).optional().catch(undefined),
  spanId: hexId(16),
  parentSpanId: hexId(16).optional().catch(undefined),
  name: z.string().min(1),
  kind: z.int().min(1).max(5).catch(1),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  droppedAttributesCount: count,
  events: z
    .array(z.object({ timeUnixNano: nanos, name: z.string(), attributes }))
    .optional()
    .catch(undefined),
  droppedEventsCount: count,
  links: z
    .array(z.object({ traceId: hexId(32), spanId: hexId(16), attributes }))
    .optional()
    .catch(undefined),
  droppedLinksCount: count,
  status: z
    .object({ code: z.int().min(0).max(2).catch(0), message: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
})
export type OtlpSpan = z.infer<typeof otlpSpan>
