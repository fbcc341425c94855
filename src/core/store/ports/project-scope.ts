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
