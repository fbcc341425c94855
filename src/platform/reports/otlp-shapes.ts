// The shapes of OTLP/JSON that spans are read from (opentelemetry-proto, "JSON Protobuf Encoding": ids are hex, numbers of 64 bits may be texts). A
// field with a wrong value makes its span invalid; unknown fields are ignored. Attributes are read without zod: a span may have thousands.
import { z } from 'zod'
import type { OwnAttributes, OwnValue } from '../../model/own-span.ts'

/** Longest key of an attribute, UTF-16 units. */
const maxKey = 255
/** Most elements of an attribute whose value is a list. */
const maxElements = 64

const instant = z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative().transform(String)])
/** In ms, rounded down to microseconds. */
const nanos = instant.transform(text => Number(BigInt(text) / 1_000n) / 1_000)
const hexId = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`))
    .transform(id => id.toLowerCase())
    .refine(id => !/^0+$/.test(id))

type Wire = Readonly<Record<string, unknown>>

function objectOf(value: unknown): Wire {
  return typeof value === 'object' && value !== null ? (value as Wire) : {}
}

/** Undefined if it is no value. Other lists than those of texts, and maps, become their JSON. */
function valueOf(given: unknown): OwnValue | undefined {
  const { stringValue, boolValue, bytesValue, intValue, doubleValue, arrayValue, kvlistValue } = objectOf(given)
  if (typeof stringValue === 'string') return stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (Number.isSafeInteger(intValue) || (typeof intValue === 'string' && /^-?\d{1,20}$/.test(intValue)))
    return { int: String(intValue) }
  if (typeof doubleValue === 'number' && Number.isFinite(doubleValue)) return { double: doubleValue }
  if (typeof bytesValue === 'string') return bytesValue
  const other = arrayValue ?? kvlistValue
  return other === undefined ? undefined : (textsOf(arrayValue) ?? JSON.stringify(other))
}

/** Undefined unless it is a list of texts. */
function textsOf(list: unknown): readonly string[] | undefined {
  const { values = [] } = objectOf(list)
  if (list === undefined || !Array.isArray(values)) return undefined
  const texts = (values as unknown[]).slice(0, maxElements).map(one => objectOf(one).stringValue)
  return texts.every(text => typeof text === 'string') ? texts : undefined
}

/** Attributes without a valid value are dropped. */
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
