// Runs the queries of pages within a scope. A query without a placeholder for the scope's condition does not compile.
//
// In a query, `{visible l}` stands for the condition that the owner of the row `l` is in the scope. `{visible event e}` is the same for a row of
// `events`, which may belong to no project. If the scope has no limits, the condition is always true. Otherwise it lists the ids of the owners in the
// scope. The ids are computed in this process, which matches the globs, and are passed to the query. They are computed again when an owner was added
// or has moved.
import { everything, type Scope } from '../ports/scope.ts'
import { ownerRow, selectOwners, selectOwnersVersion, type OwnerRow } from './owners.ts'
import type { Ask, Statements, Value } from './statements.ts'
import type { DamagedRows } from './damaged-rows.ts'
import type { Row } from './columns.ts'

/** A query with a placeholder for the scope's condition. */
export type ScopedSql = `${string}{visible${string}}${string}`

export interface Reading {
  readonly scope: Scope
  readonly ask: (sql: ScopedSql, values?: readonly Value[]) => Promise<Row[]>
  /** Returns the SQL and the values of a scoped query, for a caller that runs the query itself. */
  readonly scoped: (sql: ScopedSql, values: readonly Value[]) => Promise<[string, Value[]]>
  /** Reads more data of rows that `ask` has found, by row id. */
  readonly byRow: Ask
  /** Returns the latest path of a project. Undefined if the path is unknown. */
  readonly pathOf: (instance: string, projectId: number) => Promise<string | undefined>
  readonly damaged: DamagedRows
}

interface Owners {
  readonly version: string
  readonly rows: readonly OwnerRow[]
  readonly paths: ReadonlyMap<string, string>
}

/** Returns a function that gives read access to the store within a scope. */
export function readings(sql: Statements): (scope: Scope) => Reading {
  let known: Owners | undefined
  const visible = new WeakMap<Scope, { readonly of: Owners; readonly ids: string }>()

  async function owners(): Promise<Owners> {
    const [row] = await sql.all(selectOwnersVersion)
    const version = JSON.stringify(row)
    if (known?.version === version) return known
    const rows = (await sql.all(selectOwners)).map(ownerRow)
    const paths = rows.flatMap(({ instance, projectId, path }) =>
      projectId > 0 && path !== '' ? [[`${projectId} ${instance}`, path] as const] : [],
    )
    known = { version, rows, paths: new Map(paths) }
    return known
  }

  /** Returns the ids of the scope's owners, as JSON. */
  async function visibleIds(scope: Scope): Promise<string> {
    const of = await owners()
    const last = visible.get(scope)
    if (last?.of === of) return last.ids
    const ids = JSON.stringify(of.rows.filter(scope.sees).map(({ id }) => id))
    visible.set(scope, { of, ids })
    return ids
  }

  return scope => {
    const scoped: Reading['scoped'] = async (text, values) => {
      if (scope.bounds === 'none') return [text.replace(mark, 'TRUE'), [...values]]
      const ids = sql.listed(`?${values.length + 1}`)
      return [text.replace(mark, (_, ...of) => condition(of, ids)), [...values, await visibleIds(scope)]]
    }
    return {
      scope,
      scoped,
      ask: async (text, values = []) => sql.all(...(await scoped(text, values))),
      byRow: async (text, values) => sql.all(text, values),
      pathOf: async (instance, projectId) => (await owners()).paths.get(`${projectId} ${instance}`),
      damaged: sql.damaged,
    }
  }
}

export function unbounded(sql: Statements): Reading {
  return readings(sql)(everything)
}

const mark = /\{visible(?: (event|path))?(?: ([\w.]+))?\}/g

/**
 * Returns the SQL condition for a placeholder. The first argument contains the kind and the row name of the placeholder. `ids` is SQL that selects
 * the ids of the owners.
 */
function condition([kind, name]: readonly unknown[], ids: string): string {
  const row = typeof name === 'string' ? `${name}.` : ''
  const among = (columns: string): string => `IN (SELECT ${columns} FROM owners WHERE id IN (${ids}))`
  if (kind === 'path') return `${String(name)} ${among('path')}`
  if (kind === 'event')
    return `(${row}instance, coalesce(${row}project_id, 0), ${row}group_path) ${among('instance, project_id, group_path')}`
  return `(${row}instance, ${row}project_id) ${among('instance, project_id')}`
}
