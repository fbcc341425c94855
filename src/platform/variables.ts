// Reads a pipeline's variables. They may be secrets, so only these are read: the W3C traceparent, `CI_DEBUG_TRACE`, which makes the logs of jobs show
// their variables, and those that rules for attributes name exactly.
import { readObject } from './wire-read.ts'
import { validTraceparent } from '../model/traceparent.ts'

const traceparentVariable = 'TRACEPARENT'
const debugVariable = 'CI_DEBUG_TRACE'

const none: ReadonlySet<string> = new Set()

export interface Variables {
  /** The first one, if it is valid. */
  readonly traceparent: string | undefined
  readonly isDebugTraced: boolean
  /** Those that are allowed by name, as they came. */
  readonly allowed: ReadonlyMap<string, string>
}

function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && /^\s*(?:true|t|yes|1)\s*$/i.test(value))
}

/** Of a list of items with a `key` and a `value`; undefined if it is no list. `names`: of the variables that are allowed. */
export function readVariables(value: unknown, names = none): Variables | undefined {
  if (!Array.isArray(value)) return undefined
  const allowed = new Map<string, string>()
  let traceparent: string | undefined
  let isDebugTraced = false
  for (const variable of value) {
    const { key, value: its } = readObject(variable) ?? {}
    if (key === traceparentVariable && typeof its === 'string') traceparent ??= its
    if (key === debugVariable && isOn(its)) isDebugTraced = true
    if (typeof key === 'string' && typeof its === 'string' && names.has(key) && !allowed.has(key)) allowed.set(key, its)
  }
  return { traceparent: traceparent === undefined ? undefined : validTraceparent(traceparent), isDebugTraced, allowed }
}

/** A replacer for `JSON.stringify` that removes all but these variables from every `variables`, so that others are never stored. */
export function readVariablesAlone(names?: ReadonlySet<string>): (key: string, value: unknown) => unknown {
  return (key, value) => {
    if (key !== 'variables') return value
    const { traceparent, isDebugTraced = false, allowed = [] } = readVariables(value, names) ?? {}
    return [
      ...(traceparent === undefined ? [] : [{ key: traceparentVariable, value: traceparent }]),
      ...(isDebugTraced ? [{ key: debugVariable, value: 'true' }] : []),
      ...[...allowed]
        .filter(([name]) => name !== traceparentVariable && name !== debugVariable)
        .map(([name, text]) => ({ key: name, value: text })),
    ]
  }
}
