// The condition on the path of a project: one project, or all of a group (`ports/project-scope.ts`).
import { isGroup } from '../ports/project-scope.ts'

/** `place` takes the value. No index serves groups: their rows are found by time. */
export function inScope(column: string, scope: string, place: (value: string) => string): string {
  const value = place(scope)
  return isGroup(scope) ? `substr(${column}, 1, length(${value})) = ${value}` : `${column} = ${value}`
}
