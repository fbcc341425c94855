// Parameters: `$1` for `?1`, and one array for each column of many rows, as every statement is a round trip.
import { jsonSeparator, type ColumnType, type StepValue } from '../sql/steps.ts'

/** The rows of these array parameters, numbered after the first `before`. */
export function unnest(types: readonly ColumnType[], before = 0): string {
  return `unnest(${types.map((type, index) => `$${before + index + 1}::${type}[]`).join(', ')})`
}

/** The arrays of these rows. */
export function columnsOf(
  rows: readonly (readonly StepValue[])[],
  types?: readonly ColumnType[],
): (StepValue[] | string)[] {
  return (rows[0] ?? []).map((_, column) => {
    const values = rows.map(row => row[column] ?? null)
    return types?.[column] === 'json' ? values.join(jsonSeparator) : values
  })
}

/** With `$1` for `?1`. */
export function placed(sql: string): string {
  return sql.replace(/\?(\d+)/g, '$$$1')
}
