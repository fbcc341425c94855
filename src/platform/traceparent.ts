// The W3C traceparent among a pipeline's variables, which is read only if the configuration allows it.
import { readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'

/**
 * Version 00, ids that are not zero, lower case (W3C Trace Context, section 3.2.2).
 * https://www.w3.org/TR/trace-context/#traceparent-header-field-values
 */
const traceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The trimmed value if it is valid; otherwise undefined. */
export function validTraceparent(value: string): string | undefined {
  const trimmed = value.trim()
  return traceparent.test(trimmed) ? trimmed : undefined
}

/** The traceparent among a pipeline event's variables. No other variable is read. */
export function traceparentOf(body: unknown): string | undefined {
  for (const variable of readItems(readObject(readObject(body)?.object_attributes)?.variables) ?? []) {
    const { key, value } = readObject(variable) ?? {}
    if (key === 'TRACEPARENT' && typeof value === 'string') return validTraceparent(value)
  }
  return undefined
}
