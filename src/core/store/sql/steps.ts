// The body of a transaction, written once for both databases: a generator that yields statements and receives their rows. SQLite runs it
// synchronously, PostgreSQL asynchronously.
import type { Cell, Row } from './columns.ts'
import type { Log } from '../../../lib/log.ts'
import type { DamagedRows } from './damaged-rows.ts'
import type { EncodeMessages } from '../ports/outbox.ts'
import type { Millis } from '../../../model/instant.ts'

export type StepValue = Cell

/** A statement with its values. */
export type StepOf = readonly [sql: string, values: readonly StepValue[]]

/**
 * A statement for many rows of values, none of which it writes twice. PostgreSQL gets all rows at once, as every statement is a round trip; SQLite runs it for
 * each row. No rows: nothing runs.
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

/** The transaction as its steps see it. */
export interface Within {
  readonly now: Millis
  readonly damaged: DamagedRows
  readonly log: Log | undefined
  /** How chunks become messages (`StoreOptions.encode`). */
  readonly encode: EncodeMessages
  /** True if other processes write at the same time, like replicas on PostgreSQL. */
  readonly isShared: boolean
}

/** `json`: long texts, or null. As elements of an array they would be escaped here and unescaped by the server, which is slow: they go as one list. */
export type ColumnType = 'bigint' | 'int' | 'text' | 'double precision' | 'json' | 'bytea'

/** U+001E, the record separator, is in no JSON text unescaped. */
export const jsonSeparator = '\u001e'

/** The parts from which the text of a statement for rows is made. */
export interface RowsText {
  /** Their source, for `INSERT INTO … ${rows}`. */
  readonly rows: string
  /** The condition that these columns are one of the rows. */
  readonly among: (...columns: readonly string[]) => string
  /** Locks what is selected. */
  readonly forUpdate: string
}

/** `sqlite`: the text for one row, where another one is quicker. */
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

/** Thrown by steps to undo and repeat them: they conflicted with another replica. */
export class Again extends Error {
  override readonly message = 'it conflicted with another replica repeatedly'
}

export function each(statement: ForRows, rows: readonly (readonly StepValue[])[]): Step {
  return { each: statement, rows }
}

/** Runs several steps at the same time if the database can: none waits for the answers to another. */
export function* concurrently<T>(all: readonly Steps<T>[]): Steps<T[]> {
  const results: T[] = []
  yield {
    concurrently: all.map(function* (steps, at) {
      results[at] = yield* steps
    }),
  }
  return results
}

/** Locks these names until the end of the transaction. All replicas lock in the same order, so that there is no deadlock. */
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

/** Ends a SELECT: its rows are locked until the end of the transaction. */
export function forUpdate({ isShared }: Within): string {
  return isShared ? 'FOR UPDATE' : ''
}
