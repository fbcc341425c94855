// Finds the W3C traceparent among a pipeline's variables. It is only called if the configuration allows it.
import { itemsBetweenPauses, type Turns } from './webhook/turns.ts'
import { readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'
import { validTraceparent } from '../model/traceparent.ts'

/** The traceparent among the variables of a pipeline event. No other variable is read. */
export function* traceparentOf(body: unknown): Turns<string | undefined> {
  let read = 0
  for (const variable of readItems(readObject(readObject(body)?.object_attributes)?.variables) ?? []) {
    read += 1
    if (read % itemsBetweenPauses === 0) yield
    const { key, value } = readObject(variable) ?? {}
    if (key === 'TRACEPARENT' && typeof value === 'string') return validTraceparent(value)
  }
  return undefined
}
