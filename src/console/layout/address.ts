// Parses and builds the parts of page addresses: project, pipeline and job IDs, the platform, and query strings.
import { isGroup } from '../../core/store/ports/project-scope.ts'

/** Parses an ID. Returns undefined unless the value is a positive safe integer. */
export function wholeNumber(text: string): number | undefined {
  const number = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** Returns a query parameter; undefined if it is missing or empty. */
export function given(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name)?.trim()
  return text === '' ? undefined : text
}

/** Returns the group in the `project` query parameter, which may name either a project or a group. */
export function groupIn(query: URLSearchParams): string | undefined {
  const scope = given(query, 'project')
  return scope !== undefined && isGroup(scope) ? scope : undefined
}

/** Returns the path with these values as its query string. Undefined values are left out. */
export function addressWith(path: string, values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** The parameters of a path such as `/pipelines/:project/:pipeline`, by name. All of them are IDs. */
export type Ids<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, number>> & Ids<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, number>>
    : unknown

/** Returns a function that returns the instance to name in a link to a line's project: none if all lines are of the same instance. */
export function linkedInstance(lines: readonly { readonly instance?: string | undefined }[]) {
  const areSeveral = new Set(lines.map(({ instance }) => instance)).size > 1
  return ({ instance }: (typeof lines)[number]): string | undefined => (areSeveral ? instance : undefined)
}
