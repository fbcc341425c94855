// Many rows in one statement, with one array parameter for each column: every statement is a round trip.
import type { Value } from '../sql/statements.ts'

type Type = 'bigint' | 'int' | 'text' | 'double precision'

/** The rows of these array parameters, numbered after the first `before`. */
export function unnest(types: readonly Type[], before = 0): string {
  return `unnest(${types.map((type, index) => `$${before + index + 1}::${type}[]`).join(', ')})`
}

/** The arrays of these rows. */
export function columnsOf(rows: readonly (readonly Value[])[]): Value[][] {
  return (rows[0] ?? []).map((_, column) => rows.map(row => row[column] ?? null))
}
