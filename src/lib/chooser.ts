// Chooses texts by glob patterns: those to include, without those to exclude. The case of letters does not matter, because the platform ignores it in
// paths; patterns of projects may be for one platform only.
import picomatch from 'picomatch'

/** Without any to include, all are included. */
export interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** Whether a text matches one of the patterns. `dot`: `*` matches a leading dot too, because paths and refs have no hidden parts. */
export function globs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, nocase: true })
}

/** The same for names of variables, whose case matters. */
export function exactGlobs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true })
}

/** An unknown text is chosen. */
export function chooser({ include = [], exclude = [] }: Choice): (text: string | undefined) => boolean {
  const [included, excluded] = [include.length === 0 ? () => true : globs(include), globs(exclude)]
  return text => text === undefined || (included(text) && !excluded(text))
}

/** Whether it chooses at all. */
export function isChoice({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}

/** A project, or a group, of one of several platforms. */
export type ChooseProject = (path: string | undefined, instance: string) => boolean
/** The name of the platform of an instance; undefined for one that is not configured. */
export type PlatformOf = (instance: string) => string | undefined

/** A pattern that begins with a platform's name and a colon is for projects of that platform only; paths have no colon. */
export function projectGlobs(
  patterns: readonly string[],
  platformOf: PlatformOf,
): (path: string, instance: string) => boolean {
  const [ofOne, ofAll] = [globs(patterns.filter(namesPlatform)), globs(patterns.filter(one => !namesPlatform(one)))]
  return (path, instance) => ofAll(path) || ofOne(`${platformOf(instance) ?? ''}:${path}`)
}

export function namesPlatform(pattern: string): boolean {
  return /^[^/:]+:/.test(pattern)
}

/** As `chooser`, of projects. */
export function projectChooser({ include = [], exclude = [] }: Choice, platformOf: PlatformOf): ChooseProject {
  const included = include.length === 0 ? () => true : projectGlobs(include, platformOf)
  const excluded = projectGlobs(exclude, platformOf)
  return (path, instance) => path === undefined || (included(path, instance) && !excluded(path, instance))
}
