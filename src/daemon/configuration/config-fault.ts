// Configuration faults: where a setting was set, what is wrong with it, what the operator probably meant, and how the message is formatted.

/** Where a value was set. Lines and columns are numbered from 1. */
export type Source =
  | { readonly from: 'default' }
  | { readonly from: 'environment'; readonly variable: string }
  | { readonly from: 'file'; readonly file: string; readonly line: number; readonly column: number }

/** What is wrong with a value, and how to fix it, in one sentence each. */
export interface Wrong {
  readonly what: string
  readonly remedy: string
}

export interface ConfigFault extends Wrong {
  readonly source: Source
  /** The setting's key path, such as `webhook.token`; absent if the file itself is wrong. */
  readonly setting?: string
}

/** Creates a fault for a setting, including where the setting was set. */
export type FaultOf = (setting: string, what: string, remedy: string) => ConfigFault

/** Formats a fault as one line: `pipespan.yaml:3:9: settle: "soon" is not a duration. Write a number …`. */
export function describeFault({ source, setting, what, remedy }: ConfigFault): string {
  const named = source.from === 'environment' || setting === undefined ? [] : [setting]
  const place = source.from === 'default' ? [] : [describeSource(source)]
  return [...place, ...named, `${what} ${remedy}`].join(': ')
}

/** Formats the source of a value: `default`, the variable's name, or `file:line:column`. */
export function describeSource(source: Source): string {
  switch (source.from) {
    case 'default':
      return 'default'
    case 'environment':
      return source.variable
    case 'file':
      return `${source.file}:${source.line}:${source.column}`
  }
}

/** Quotes what the operator wrote, shortened, and without any credentials that a URL contains. */
export function quoted(text: string): string {
  const safe = text.replace(/\/\/.*@/s, '//[secret]@')
  return JSON.stringify(safe.length > 80 ? `${safe.slice(0, 80)}…` : safe)
}

/** Returns the candidate that is most similar to a mistyped name; undefined if every candidate needs more than `maxEdits` edits. */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  maxEdits = Math.max(2, Math.floor(word.length / 4)),
): string | undefined {
  let best: string | undefined
  let least = maxEdits + 1
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/**
 * Returns the edit distance between two strings, counting insertions, deletions, replacements, and swaps of adjacent characters (optimal string
 * alignment).
 */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, column - 2) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
