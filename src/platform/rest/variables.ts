// Reads a pipeline's variables. They may be secrets, so only two are read: the traceparent, and the one that turns on a debug trace.
import { z } from 'zod'
import { atOnce } from '../webhook/turns.ts'
import { debugVariable, isDebugTraced } from '../debug-variable.ts'
import { validTraceparent } from '../../model/traceparent.ts'

const traceparentVariable = z.object({ key: z.literal('TRACEPARENT'), value: z.string() })

/** A replacer for `JSON.stringify` that removes all but these two variables from every `variables`, so that others are never stored. */
export function readVariablesAlone(key: string, value: unknown): unknown {
  if (key !== 'variables') return value
  const traceparent = Array.isArray(value) ? traceparentIn(value) : undefined
  return [
    ...(traceparent === undefined ? [] : [{ key: 'TRACEPARENT', value: traceparent }]),
    ...(atOnce(isDebugTraced(value)) ? [{ key: debugVariable, value: 'true' }] : []),
  ]
}

/** The valid W3C traceparent in a list of variables; undefined if there is none. */
export function traceparentIn(variables: readonly unknown[]): string | undefined {
  for (const variable of variables) {
    const { data } = traceparentVariable.safeParse(variable)
    if (data !== undefined) return validTraceparent(data.value)
  }
  return undefined
}
