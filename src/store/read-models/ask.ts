// How a read model queries either database.
import type { Row } from '../sql/columns.ts'
import type { Value } from '../sql/statements.ts'

/** `?1`, `?2`, … in the text stand for the values. */
export type Ask = (sql: string, values: readonly Value[]) => Promise<Row[]>
