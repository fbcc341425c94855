// The projects that a question is about: one by its full path, all of a group, or several by their full paths. A text that ends with a slash is a
// group.
import type { Millis } from '../../../model/instant.ts'

export type ProjectScope = string | ReadonlySet<string>

/** What happened within a period. */
export interface PeriodFilter {
  /** Undefined: in all projects. */
  readonly project?: ProjectScope | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

/** Which figures are added up. */
export interface FiguresQuery {
  readonly since: Millis
  readonly until: Millis
  /** Only projects of this group, a path that ends with a slash, or these projects. */
  readonly group?: ProjectScope | undefined
}

export function isGroup(scope: string): boolean {
  return scope.endsWith('/')
}

/** Whether a path is in the scope. Undefined: all are. */
export function isInScope(path: string, scope: ProjectScope | undefined): boolean {
  if (scope === undefined) return true
  if (typeof scope !== 'string') return scope.has(path)
  return isGroup(scope) ? path.startsWith(scope) : path === scope
}

// The condition on the path of a project: one project, all of a group, or several projects (`ports/project-scope.ts`).

/** `place` takes a value. No index serves groups and several projects: their rows are found by time. */
export function inScope(column: string, scope: ProjectScope, place: (value: string) => string): string {
  if (typeof scope !== 'string')
    return `${column} IN (${padded([...scope])
      .map(place)
      .join(', ')})`
  const value = place(scope)
  return isGroup(scope) ? `substr(${column}, 1, length(${value})) = ${value}` : `${column} = ${value}`
}

/** Statements are cached by their texts, so lists only have lengths that are powers of two: the last value is repeated. `/` is no project's path. */
function padded(paths: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, paths.length)))
  return Array.from({ length }, (_, at) => paths[Math.min(at, paths.length - 1)] ?? '/')
}
