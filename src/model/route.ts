// Which destinations take what: each all projects, or those that the operator chose for it. Pure.

/** The queue of one signal to one destination. */
export interface Route<Signal extends string = string> {
  readonly destination: string
  readonly signal: Signal
  /** Undefined: it takes everything. `path`: of the project, or of the group of what is about a group; undefined for what is about neither. */
  readonly takes?: ((path: string | undefined) => boolean) | undefined
}

/** Where something of this project is sent. */
export function routed<Signal extends string>(
  routes: readonly Route<Signal>[],
  path: string | undefined,
): { readonly destination: string; readonly signal: Signal }[] {
  return routes.filter(({ takes }) => takes?.(path) ?? true).map(({ destination, signal }) => ({ destination, signal }))
}
