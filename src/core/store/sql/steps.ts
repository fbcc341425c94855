// The body of a transaction, written once for both databases: a generator that yields statements and receives their rows. SQLite runs the generator
// synchronously, PostgreSQL asynchronously.
import type { Cell, Row } from './columns.ts'
import type { Log } from '../../../lib/log.ts'
import type { DamagedRows } from './damaged-rows.ts'
import type { EncodeMessages } from '../ports/outbox.ts'
import type { Millis } from '../../../model/instant.ts'

export type StepValue = Cell

export type StepOf = readonly [sql: string, values: readonly StepValue[]]

/**
 * A statement for many rows of values. No two input rows may write the same database row. PostgreSQL receives all rows in one statement, because
 * every statement is a round trip. SQLite runs the statement once per row. Without rows, nothing runs.
 */
export interface ForRows {
  readonly types: readonly ColumnType[]
  readonly sqlite: string
  readonly postgres: string
}

export type Step =
  | StepOf
  | { readonly each: ForRows; readonly rows: readonly (readonly StepValue[])[] }
  | { readonly concurrently: readonly Steps<void>[] }

export type Steps<T> = Generator<Step, T, readonly Row[]>

/** The context that a transaction passes to its steps. */
export interface Within {
  readonly now: Millis
  readonly damaged: DamagedRows
  readonly log: Log | undefined
  readonly encode: EncodeMessages
  /** Whether other processes, such as replicas on PostgreSQL, may write at the same time. */
  readonly isShared: boolean
}

/**
 * The types of input columns. `json` is for long strings or null. As array elements such strings would have to be escaped here and unescaped by the
 * server, which is slow, so they are joined into one string with a separator.
 */
export type ColumnType = 'bigint' | 'int' | 'text' | 'double precision' | 'json' | 'bytea'

/** U+001E, the record separator. JSON never contains it unescaped. */
export const jsonSeparator = '\u001e'

/** The SQL fragments of a statement for many rows. */
export interface RowsText {
  /** The SQL that yields the input rows, for `INSERT INTO … ${rows}`. */
  readonly rows: string
  /** Returns the condition that these columns match one of the input rows. */
  readonly among: (...columns: readonly string[]) => string
  /** The end of a SELECT that locks the selected rows. */
  readonly forUpdate: string
}

/** Builds a statement for many rows. `sqlite`: a separate statement for one row, if that is faster on SQLite. */
export function forRows(types: readonly ColumnType[], sql: (text: RowsText) => string, sqlite?: string): ForRows {
  const columns = types.map((_, at) => `c${at + 1}`)
  const arrays = types.map((type, at) =>
    type === 'json' ? `string_to_array($${at + 1}, U&'\\001e')` : `$${at + 1}::${type}[]`,
  )
  const read = types.map((type, at) => (type === 'json' ? `nullif(${columns[at]}, '')` : columns[at]))
  const rows = `SELECT ${read.join(', ')} FROM unnest(${arrays.join(', ')}) AS w (${columns.join(', ')})`
  const own = types.map((_, at) => `?${at + 1}`)
  return {
    types,
    sqlite:
      sqlite ??
      sql({
        rows: `VALUES (${own.join(', ')})`,
        among: (...names) => names.map((name, at) => `${name} = ${own[at]}`).join(' AND '),
        forUpdate: '',
      }),
    postgres: sql({ rows, among: (...names) => `(${names.join(', ')}) IN (${rows})`, forUpdate: 'FOR UPDATE' }),
  }
}

/** Thrown by steps that conflicted with another replica. The transaction is rolled back, and the steps run again. */
export class Again extends Error {
  override readonly message = 'it conflicted with another replica repeatedly'
}

export function each(statement: ForRows, rows: readonly (readonly StepValue[])[]): Step {
  return { each: statement, rows }
}

/** Runs several sequences of steps, concurrently if the database supports it. No sequence may need the results of another. */
export function* concurrently<T>(all: readonly Steps<T>[]): Steps<T[]> {
  const results: T[] = []
  yield {
    concurrently: all.map(function* (steps, at) {
      results[at] = yield* steps
    }),
  }
  return results
}

/** Locks these names until the end of the transaction. All replicas lock names in the same order, so they cannot deadlock. */
export function* lockNames(names: readonly string[], { isShared }: Within): Steps<void> {
  if (isShared)
    yield each(
      lock,
      [...new Set(names)].map(name => [name]),
    )
}

const lock = forRows(
  ['text'],
  ({ rows }) => `
  SELECT pg_advisory_xact_lock(lock) FROM
    (SELECT DISTINCT hashtextextended(name, 0) AS lock FROM (${rows}) AS n (name) ORDER BY 1) AS locks`,
)

/** Returns the end of a SELECT that locks its rows until the end of the transaction. */
export function forUpdate({ isShared }: Within): string {
  return isShared ? 'FOR UPDATE' : ''
}
