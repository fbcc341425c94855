// The shapes of OTLP/JSON that spans are read from (opentelemetry-proto, "JSON Protobuf Encoding": ids are hex, numbers of 64 bits may be texts). A
// field with a wrong value makes its span invalid; unknown fields are ignored.
import { z } from 'zod'
import type { OwnAttributes, OwnValue } from '../../model/own-span.ts'

/** Longest key of an attribute, UTF-16 units. */
const longestKey = 255

const wholeNumber = z.union([z.string().regex(/^-?\d{1,20}$/), z.int().transform(String)])
const instant = z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative().transform(String)])
/** In ms, rounded down to microseconds. */
const nanos = instant.transform(text => Number(BigInt(text) / 1_000n) / 1_000)
const hexId = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`))
    .transform(id => id.toLowerCase())
    .refine(id => !/^0+$/.test(id))

const scalar = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
  z.object({ intValue: wholeNumber }).transform(({ intValue }) => ({ int: intValue })),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => ({ double: doubleValue })),
  z.object({ bytesValue: z.string() }).transform(({ bytesValue }) => bytesValue),
])
const textList = z
  .object({ arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })).optional() }) })
  .transform(({ arrayValue }) => (arrayValue.values ?? []).map(({ stringValue }) => stringValue))
/** Other values become their JSON; those that are nested too deeply are dropped. */
const other = z
  .union([z.object({ arrayValue: z.unknown() }), z.object({ kvlistValue: z.unknown() })])
  .transform((value, context) => {
    try {
      return JSON.stringify(Object.values(value)[0])
    } catch {
      context.addIssue('too deep')
      return z.NEVER
    }
  })
const anyValue: z.ZodType<OwnValue> = z.union([scalar, textList, other])

const attribute = z.object({ key: z.string().min(1).max(longestKey), value: anyValue })
/** Attributes without a valid value are dropped. */
const attributes = z
  .array(z.unknown())
  .optional()
  .transform((list = []): OwnAttributes =>
    list.flatMap(item => {
      const { data } = attribute.safeParse(item)
      return data === undefined ? [] : [[data.key, data.value] as const]
    }),
  )

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
