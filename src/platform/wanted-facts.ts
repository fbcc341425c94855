// What the operator's rules for attributes want of a pipeline, and nothing else is read for them: labels of its merge request with certain prefixes,
// and variables with certain names.
import { readLongText, readObject } from './wire-read.ts'
import type { Variables } from './variables.ts'
import { redactedTo, redactedValue, type RedactText } from '../lib/text-redaction.ts'

/** Limits: labels that are kept of a merge request, and UTF-16 units of a label or value. Longer ones are cut. */
const maxLabels = 16
const maxLength = 256

export interface WantedFacts {
  /** The labels that begin with a wanted prefix, redacted and sorted; undefined if the value is no list of labels. */
  labels(value: unknown): readonly string[] | undefined
  /** The exact names of variables. */
  readonly variables: ReadonlySet<string>
  /** The variables with these names, redacted and cut; undefined if none are known. */
  valuesOf(variables: Variables | undefined): Readonly<Record<string, string>> | undefined
}

export interface WantedNames {
  /** Prefixes of labels. */
  readonly labels: readonly string[]
  /** Names of variables. */
  readonly variables: readonly string[]
}

/** Undefined if nothing is wanted. */
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

/** More labels are not read. */
const maxListed = 1_000

/** Of a list of texts, or of objects with a title or a name; undefined if it is no list. */
function titlesOf(labels: unknown): string[] | undefined {
  if (!Array.isArray(labels)) return undefined
  return labels.slice(0, maxListed).flatMap((label: unknown) => {
    const { title, name } = readObject(label) ?? {}
    return readLongText(label) ?? readLongText(title) ?? readLongText(name) ?? []
  })
}
