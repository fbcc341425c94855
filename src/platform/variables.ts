// Reads a pipeline's variables. They may be secrets, so only two are read: the W3C traceparent, and `CI_DEBUG_TRACE`, which makes the logs of jobs show
// their variables.
import { Items, readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'
import { validTraceparent } from '../model/traceparent.ts'

const traceparentVariable = 'TRACEPARENT'
const debugVariable = 'CI_DEBUG_TRACE'

/** A list of items with a `key` and a `value`. */
export class Variables extends Items {
  isDebugTraced = false
  #traceparent: string | undefined

  override add(variable: unknown): void {
    super.add(variable)
    const { key, value } = readObject(variable) ?? {}
    if (key === traceparentVariable && typeof value === 'string') this.#traceparent ??= value
    if (key === debugVariable && isOn(value)) this.isDebugTraced = true
  }

  /** Only the first one counts, and only if it is valid. */
  get traceparent(): string | undefined {
    return this.#traceparent === undefined ? undefined : validTraceparent(this.#traceparent)
  }
}

function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && /^\s*(?:true|t|yes|1)\s*$/i.test(value))
}

export function beginVariables(): Variables {
  return new Variables()
}

/** Undefined without a list. */
export function readVariables(value: unknown): Variables | undefined {
  return readItems(value, beginVariables)
}

/** A replacer for `JSON.stringify` that removes all but these two variables from every `variables`, so that others are never stored. */
export function readVariablesAlone(key: string, value: unknown): unknown {
  if (key !== 'variables') return value
  const { traceparent, isDebugTraced = false } = readVariables(value) ?? {}
  return [
    ...(traceparent === undefined ? [] : [{ key: traceparentVariable, value: traceparent }]),
    ...(isDebugTraced ? [{ key: debugVariable, value: 'true' }] : []),
  ]
}
