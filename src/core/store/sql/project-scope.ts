// The condition on the path of a project: one project, all of a group, or several projects (`ports/project-scope.ts`).
import { isGroup, type ProjectScope } from '../ports/project-scope.ts'

/** `place` takes a value. No index serves groups and several projects: their rows are found by time. */
export function inScope(column: string, scope: ProjectScope, place: (value: string) => string): string {
  if (typeof scope !== 'string')
    return `${column} IN (${padded([...scope])
      .map(place)
      .join(', ')})`
  const value = place(scope)
  return isGroup(scope) ? `substr(${column}, 1, length(${value})) = ${value}` : `${column} = ${value}`
}

/** Statements are cached by their texts, so lists only have lengths that are powers of two: the last value is repeated. No path is a slash. */
function padded(paths: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, paths.length)))
  return Array.from({ length }, (_, at) => paths[Math.min(at, paths.length - 1)] ?? '/')
}
