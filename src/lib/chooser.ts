// Chooses texts by glob patterns: those to include, without those to exclude.
import picomatch from 'picomatch'

/** Without any to include, all are included. */
export interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** An unknown text is chosen. */
export function chooser({ include = [], exclude = [] }: Choice): (text: string | undefined) => boolean {
  // `dot`: `*` matches a leading dot too, because paths and refs have no hidden parts.
  const matches = (patterns: readonly string[]) => picomatch([...patterns], { dot: true })
  const included = include.length === 0 ? () => true : matches(include)
  const excluded = exclude.length === 0 ? () => false : matches(exclude)
  return text => text === undefined || (included(text) && !excluded(text))
}

/** Whether it chooses at all. */
export function isChoice({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}
