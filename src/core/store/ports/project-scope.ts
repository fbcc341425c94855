// The projects of a query: one project by its full path, all projects of a group, or several projects by their full paths. A path that ends with a
// slash is a group.
import type { Millis } from '../../../model/instant.ts'

export type ProjectScope = string | ReadonlySet<string>

/** Filters records by project and by period. */
export interface PeriodFilter {
  /** The selected projects. Undefined means all projects. */
  readonly project?: ProjectScope | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

/** Selects the figures to be added up. */
export interface FiguresQuery {
  readonly since: Millis
  readonly until: Millis
  /** Limits the figures to these projects, or to the projects of a group; a group's path ends with a slash. */
  readonly group?: ProjectScope | undefined
}

export function isGroup(scope: string): boolean {
  return scope.endsWith('/')
}

/** Whether a path is in the scope. If the scope is undefined, every path is. */
export function isInScope(path: string, scope: ProjectScope | undefined): boolean {
  if (scope === undefined) return true
  if (typeof scope !== 'string') return scope.has(path)
  return isGroup(scope) ? path.startsWith(scope) : path === scope
}

// Builds the SQL condition on the path of a project: one project, all projects of a group, or several projects (`ports/project-scope.ts`).

/**
 * Returns the SQL condition on a project path. `place` adds a parameter. No index covers groups or several projects: their rows are found by time.
 */
export function inScope(column: string, scope: ProjectScope, place: (value: string) => string): string {
  if (typeof scope !== 'string')
    return `${column} IN (${padded([...scope])
      .map(place)
      .join(', ')})`
  const value = place(scope)
  return isGroup(scope) ? `substr(${column}, 1, length(${value})) = ${value}` : `${column} = ${value}`
}

/**
 * Pads a list of paths to a length that is a power of two, by repeating the last path. Statements are cached by their text, so fewer lengths mean
 * fewer statements. An empty list is padded with `/`, which is not a project path.
 */
function padded(paths: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, paths.length)))
  return Array.from({ length }, (_, at) => paths[Math.min(at, paths.length - 1)] ?? '/')
}
