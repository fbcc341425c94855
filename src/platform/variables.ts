// Reads a pipeline's variables. They may be secrets, so only these are read: the W3C traceparent, `CI_DEBUG_TRACE`, which makes the logs of jobs show
// their variables, and those that rules for attributes name exactly.
import { Items, readItems } from './webhook/wire-items.ts'
import { readObject } from './wire-read.ts'
import { validTraceparent } from '../model/traceparent.ts'

const traceparentVariable = 'TRACEPARENT'
const debugVariable = 'CI_DEBUG_TRACE'

const none: ReadonlySet<string> = new Set()

/** A list of items with a `key` and a `value`. */
export class Variables extends Items {
  isDebugTraced = false
  /** Those that are allowed by name, as they came. */
  readonly allowed = new Map<string, string>()
  #traceparent: string | undefined
  readonly #names: ReadonlySet<string>

  constructor(names: ReadonlySet<string> = none) {
    super()
    this.#names = names
  }

  override add(variable: unknown): void {
    super.add(variable)
    const { key, value } = readObject(variable) ?? {}
    if (key === traceparentVariable && typeof value === 'string') this.#traceparent ??= value
    if (key === debugVariable && isOn(value)) this.isDebugTraced = true
    if (typeof key === 'string' && typeof value === 'string' && this.#names.has(key) && !this.allowed.has(key)) {
      this.allowed.set(key, value)
    }
  }

  /** Only the first one counts, and only if it is valid. */
  get traceparent(): string | undefined {
    return this.#traceparent === undefined ? undefined : validTraceparent(this.#traceparent)
  }
}

function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && /^\s*(?:true|t|yes|1)\s*$/i.test(value))
}

/** Undefined without a list. `names`: of the variables that are allowed. */
export function readVariables(value: unknown, names?: ReadonlySet<string>): Variables | undefined {
  return readItems(value, () => new Variables(names))
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
