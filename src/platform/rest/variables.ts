// A pipeline's variables, of which one is looked at. The others may be secrets: they are dropped here, unnamed.
import { z } from 'zod'
import { validTraceparent } from '../traceparent.ts'

const traceparentVariable = z.object({ key: z.literal('TRACEPARENT'), value: z.string() })

/**
 * For `JSON.stringify`: of what is named `variables`, however deep, nothing but a valid traceparent. What is written down like this has no
 * other variable from the start, so that none need be erased.
 */
export function traceparentAlone(key: string, value: unknown): unknown {
  if (key !== 'variables') return value
  const traceparent = Array.isArray(value) ? traceparentIn(value) : undefined
  return traceparent === undefined ? [] : [{ key: 'TRACEPARENT', value: traceparent }]
}

/** The valid W3C traceparent in a list of variables, undefined where there is none. */
export function traceparentIn(variables: readonly unknown[]): string | undefined {
  for (const variable of variables) {
    const { data } = traceparentVariable.safeParse(variable)
    if (data !== undefined) return validTraceparent(data.value)
  }
  return undefined
}
