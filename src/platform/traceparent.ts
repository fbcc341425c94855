// The one pipeline variable that is looked at, and only where the operator allows it: a W3C traceparent.
import { z } from 'zod'

const variablesOf = z.object({ object_attributes: z.object({ variables: z.array(z.unknown()) }) })
const traceparentVariable = z.object({ key: z.literal('TRACEPARENT'), value: z.string() })

/**
 * Version 00, ids that are not zero, lower case (W3C Trace Context, section 3.2.2).
 * https://www.w3.org/TR/trace-context/#traceparent-header-field-values
 */
const traceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** A valid traceparent, undefined for anything else. */
export function validTraceparent(value: string): string | undefined {
  const trimmed = value.trim()
  return traceparent.test(trimmed) ? trimmed : undefined
}

/** The traceparent that a pipeline event's variables carry. No other variable is read. */
export function traceparentOf(body: unknown): string | undefined {
  const variables = variablesOf.safeParse(body).data?.object_attributes.variables ?? []
  for (const variable of variables) {
    const { data } = traceparentVariable.safeParse(variable)
    if (data !== undefined) return validTraceparent(data.value)
  }
  return undefined
}
