// Many rows as one parameter for each column: a statement is a message between processes, so all rows go with one.
import type { Value } from '../sql/statements.ts'

type Type = 'bigint' | 'int' | 'text' | 'double precision'

/** A row for each place of the arrays, which are the parameters behind the first `before`, in this order. */
export function unnest(types: readonly Type[], before = 0): string {
  return `unnest(${types.map((type, index) => `$${before + index + 1}::${type}[]`).join(', ')})`
}

/** The arrays of these rows. */
export function columnsOf(rows: readonly (readonly Value[])[]): Value[][] {
  return (rows[0] ?? []).map((_, column) => rows.map(row => row[column] ?? null))
}
