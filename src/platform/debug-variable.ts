// Tells whether a pipeline was started with `CI_DEBUG_TRACE`, which makes its jobs' logs show their variables. Nothing else is read of the variables.
import { itemsBetweenPauses, type Turns } from './webhook/turns.ts'
import { readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'

export const debugVariable = 'CI_DEBUG_TRACE'

/** `variables`: the list of a pipeline event, whose items have a `key` and a `value`. */
export function* isDebugTraced(variables: unknown): Turns<boolean> {
  let read = 0
  for (const variable of readItems(variables) ?? []) {
    read += 1
    if (read % itemsBetweenPauses === 0) yield
    const { key, value } = readObject(variable) ?? {}
    if (key === debugVariable && /^\s*(?:true|t|yes|1)\s*$/i.test(String(value))) return true
  }
  return false
}
