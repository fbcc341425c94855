// A pipeline's variables. They may be secrets, so only the traceparent is read, and whether a debug trace is on.
import { z } from 'zod'
import { atOnce } from '../webhook/turns.ts'
import { debugVariable, isDebugTraced } from '../debug-variable.ts'
import { validTraceparent } from '../../model/traceparent.ts'

const traceparentVariable = z.object({ key: z.literal('TRACEPARENT'), value: z.string() })

/** A replacer for `JSON.stringify`: of any `variables` it keeps only what is read of them, so that others are never stored. */
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
