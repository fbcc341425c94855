// A pipeline's variables, of which one is looked at. The others may be secrets: they are dropped here, unnamed.
import { z } from 'zod'
import { validTraceparent } from './traceparent.ts'

const traceparentVariable = z.object({ key: z.literal('TRACEPARENT'), value: z.string() })

/** The valid W3C traceparent in a list of variables, undefined where there is none. */
export function traceparentIn(variables: readonly unknown[]): string | undefined {
  for (const variable of variables) {
    const { data } = traceparentVariable.safeParse(variable)
    if (data !== undefined) return validTraceparent(data.value)
  }
  return undefined
}
