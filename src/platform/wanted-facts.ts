// Decides which facts of a pipeline are read for the operator's attribute rules: merge request labels with certain prefixes, and variables with
// certain names. No other facts are read for these rules.
import { readLongText, readObject } from './wire-read.ts'
import { redactedTo, redactedValue, type RedactText } from '../lib/text-redaction.ts'
import { validTraceparent } from '../model/trace-context.ts'

// Reads a pipeline's variables. They may be secrets, so only these are read: the W3C traceparent, `CI_DEBUG_TRACE`, which makes job logs reveal their
// variables, and the variables that the operator's attribute rules name exactly.
const traceparentVariable = 'TRACEPARENT'
const debugVariable = 'CI_DEBUG_TRACE'

const none: ReadonlySet<string> = new Set()

interface Variables {
  /** The value of the first `TRACEPARENT` variable, if it is valid. */
  readonly traceparent: string | undefined
  readonly isDebugTraced: boolean
  /** The unchanged values of the variables whose names are allowed. */
  readonly allowed: ReadonlyMap<string, string>
}

function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && /^\s*(?:true|t|yes|1)\s*$/i.test(value))
}

/** Reads a list of items with a `key` and a `value`. Returns undefined for anything else. `names`: the names of the allowed variables. */
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

/**
 * Returns a `JSON.stringify` replacer that removes all but the allowed variables from every field named `variables`, so that other variables are
 * never stored.
 */
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

/** Limits: the number of labels kept per merge request, and the length of a label or value in UTF-16 units. Longer strings are truncated. */
const maxLabels = 16
const maxLength = 256

export interface WantedFacts {
  /** Returns the labels that begin with a wanted prefix, redacted and sorted; undefined if the value is not a list of labels. */
  labels(value: unknown): readonly string[] | undefined
  /** The exact names of the wanted variables. */
  readonly variables: ReadonlySet<string>
  /** Returns the values of the wanted variables, redacted and truncated; undefined if none are known. */
  valuesOf(variables: Variables | undefined): Readonly<Record<string, string>> | undefined
}

export interface WantedNames {
  /** The prefixes of the wanted labels. */
  readonly labels: readonly string[]
  readonly variables: readonly string[]
}

/** Creates the selection of wanted facts. Returns undefined if the operator's attribute rules need none. */
export function createWantedFacts({ labels, variables }: WantedNames, redactText: RedactText): WantedFacts | undefined {
  if (labels.length + variables.length === 0) return undefined
  return {
    labels: value => {
      if (labels.length === 0) return undefined
      const wanted = titlesOf(value)?.filter(title => labels.some(prefix => title.startsWith(prefix)))
      return wanted
        ?.toSorted()
        .slice(0, maxLabels)
        .map(title => redactedTo(maxLength, title, redactText))
    },
    variables: new Set(variables),
    valuesOf: read => {
      if (read === undefined || variables.length === 0) return undefined
      const redacts = (name: string) => (text: string) => redactedValue(name, text, redactText)
      return Object.fromEntries(
        [...read.allowed].map(([name, text]) => [name, redactedTo(maxLength, text, redacts(name))]),
      )
    },
  }
}

/** Maximum number of labels that are examined in one list. */
const maxListed = 1_000

/** Reads a list of strings, or of objects with a title or a name. Returns undefined for anything else. */
function titlesOf(labels: unknown): string[] | undefined {
  if (!Array.isArray(labels)) return undefined
  return labels.slice(0, maxListed).flatMap((label: unknown) => {
    const { title, name } = readObject(label) ?? {}
    return readLongText(label) ?? readLongText(title) ?? readLongText(name) ?? []
  })
}
