// Selects texts by glob patterns: those that match `include` and do not match `exclude`. Letter case is ignored, because the platform ignores it in paths.
// A pattern of projects may apply to one platform only.
import picomatch from 'picomatch'

/** If `include` is empty, all texts are included. */
export interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** Whether a text matches one of the patterns. `dot`: `*` matches a leading dot too, because paths and refs have no hidden parts. */
export function globs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, nocase: true })
}

/** Like `globs`, but case-sensitive, for names of variables. */
export function exactGlobs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true })
}

/** An unknown text (undefined) is chosen. */
export function chooser({ include = [], exclude = [] }: Choice): (text: string | undefined) => boolean {
  const [included, excluded] = [include.length === 0 ? () => true : globs(include), globs(exclude)]
  return text => text === undefined || (included(text) && !excluded(text))
}

/** Whether there are any patterns. */
export function isChoice({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}

/** Whether a project or a group is chosen. `instance`: its platform, if there are several. */
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

/** Like `chooser`, for projects. */
export function projectChooser({ include = [], exclude = [] }: Choice, platformOf: PlatformOf): ChooseProject {
  const included = include.length === 0 ? () => true : projectGlobs(include, platformOf)
  const excluded = projectGlobs(exclude, platformOf)
  return (path, instance) => path === undefined || (included(path, instance) && !excluded(path, instance))
}
