// Whether a pipeline was started with `CI_DEBUG_TRACE`: then the logs of its jobs show their variables. Only that is kept of the variable.
import { itemsBetweenPauses, type Turns } from './webhook/turns.ts'
import { readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'

export const debugVariable = 'CI_DEBUG_TRACE'

/** `variables`: the list in a pipeline event, of items with `key` and `value`. */
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
