// The projects that a question is about: one by its full path, or all of a group. A scope that ends with a slash is a group.

export function isGroup(scope: string): boolean {
  return scope.endsWith('/')
}

/** Whether a path is in the scope. Undefined: all are. */
export function isInScope(path: string, scope: string | undefined): boolean {
  return scope === undefined || (isGroup(scope) ? path.startsWith(scope) : path === scope)
}
