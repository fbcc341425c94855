// What the operator's rules for attributes want of a pipeline, and nothing else is read for them: labels of its merge request with certain prefixes.
import { Items, readItems } from './webhook/wire-items.ts'
import { objectShape, type Shape } from './webhook/wire-shape.ts'
import { readObject, readText } from './wire-read.ts'
import { redactedTo, type RedactText } from './text-redaction.ts'

/** Limits: labels that are kept of a merge request, and UTF-16 units of one. Longer ones are cut. */
const maxLabels = 16
const maxLength = 256

export interface WantedFacts {
  /** The labels that begin with a wanted prefix, redacted and sorted; undefined if the value is no list of labels. */
  labels(value: unknown): readonly string[] | undefined
}

export interface WantedNames {
  /** Prefixes of labels. */
  readonly labels: readonly string[]
}

/** Undefined if nothing is wanted. */
export function createWantedFacts({ labels }: WantedNames, redactText: RedactText): WantedFacts | undefined {
  if (labels.length === 0) return undefined
  return {
    labels: value => {
      const { titles } = readItems(value, () => new Labels()) ?? {}
      const wanted = titles?.filter(title => labels.some(prefix => title.startsWith(prefix)))
      return wanted
        ?.toSorted()
        .slice(0, maxLabels)
        .map(title => redactedTo(maxLength, title, redactText))
    },
  }
}

/** More labels are not read. */
const maxListed = 1_000

/** A list of texts, or of objects with a title or a name. */
class Labels extends Items {
  readonly titles: string[] = []

  override add(label: unknown): void {
    super.add(label)
    const { title, name } = readObject(label) ?? {}
    const text = readText(label) ?? readText(title) ?? readText(name)
    if (text !== undefined && this.titles.length < maxListed) this.titles.push(text)
  }
}

export const labelsShape: Shape = {
  items: objectShape({ title: 'scalar', name: 'scalar' }),
  begin: () => new Labels(),
}
