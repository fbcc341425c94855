// Selects strings by glob patterns: strings that match `include` and do not match `exclude`. Case is ignored, because the platform ignores it in
// paths. A project pattern may apply to one platform only.
import picomatch from 'picomatch'

/** The patterns for including and excluding strings. If `include` is empty, all strings are included. */
export interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/**
 * Returns a function that tests whether a string matches one of the patterns. With the option `dot`, `*` also matches a leading dot, because paths
 * and refs have no hidden parts.
 */
export function globs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, nocase: true })
}

/** Like `globs`, but case-sensitive, for names of environment variables. */
export function exactGlobs(patterns: readonly string[]): (text: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true })
}

/** Returns a function that tests whether a string is selected. An unknown value (undefined) is selected. */
export function chooser({ include = [], exclude = [] }: Choice): (text: string | undefined) => boolean {
  const [included, excluded] = [include.length === 0 ? () => true : globs(include), globs(exclude)]
  return text => text === undefined || (included(text) && !excluded(text))
}

/** Whether the choice contains any patterns. */
export function isChoice({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}

/** Whether a project or a group is selected. `instance` is the URL of its platform, if there are several platforms. */
export type ChooseProject = (path: string | undefined, instance: string) => boolean
/** Returns the configured name of the platform at an instance, or undefined if the instance is not configured. */
export type PlatformOf = (instance: string) => string | undefined

/**
 * Matches project paths. A pattern that begins with a platform's name and a colon applies only to projects of that platform. This is unambiguous,
 * because paths contain no colon. The name is removed before the comparison, because `**` matches several folders only where a folder begins.
 */
export function projectGlobs(
  patterns: readonly string[],
  platformOf: PlatformOf,
): (path: string, instance: string) => boolean {
  const ofAll = globs(patterns.filter(one => !namesPlatform(one)))
  const named = Map.groupBy(patterns.filter(namesPlatform), one => one.slice(0, one.indexOf(':')).toLowerCase())
  const ofOne = new Map([...named].map(([name, own]) => [name, globs(own.map(one => one.slice(name.length + 1)))]))
  return (path, instance) => ofAll(path) || ofOne.get(platformOf(instance)?.toLowerCase() ?? '')?.(path) === true
}

export function namesPlatform(pattern: string): boolean {
  return /^[^/:]+:/.test(pattern)
}

/** Like `chooser`, returns a function that tests whether a project is selected. */
export function projectChooser({ include = [], exclude = [] }: Choice, platformOf: PlatformOf): ChooseProject {
  const included = include.length === 0 ? () => true : projectGlobs(include, platformOf)
  const excluded = projectGlobs(exclude, platformOf)
  return (path, instance) => path === undefined || (included(path, instance) && !excluded(path, instance))
}
