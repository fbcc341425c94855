// Rows as both databases give them, read into what the ports speak: each column is checked once, here, and typed from then on.
import { DataError } from '../../lib/fault.ts'

/** A row by column name. Both databases name their columns alike. */
export type Row = Readonly<Record<string, unknown>>

/** Reads one column of a row. Throws DataError where it holds something else. */
export type Column<T> = (row: Row) => T

export function number(name: string): Column<number> {
  return row => (typeof row[name] === 'number' ? row[name] : damaged(name))
}

/** `T`: the words that the column has, where they are few. */
export function text<T extends string = string>(name: string): Column<T> {
  return row => (typeof row[name] === 'string' ? (row[name] as T) : damaged(name))
}

export function bytes(name: string): Column<Uint8Array> {
  return row => (row[name] instanceof Uint8Array ? row[name] : damaged(name))
}

/** A column that may be null. */
export function optional<T>(column: (name: string) => Column<T>, name: string): Column<T | undefined> {
  const read = column(name)
  return row => (row[name] === null ? undefined : read(row))
}

type Columns = Readonly<Record<string, Column<unknown>>>

/** A reader of rows: `record({ pipelineId: number('pipeline_id') })(row).pipelineId`. */
export function record<C extends Columns>(columns: C): (row: Row) => { [Name in keyof C]: ReturnType<C[Name]> } {
  const all = Object.entries(columns)
  return row => Object.fromEntries(all.map(([name, read]) => [name, read(row)])) as never
}

function damaged(name: string): never {
  throw new DataError(
    `The column ${name} of a stored row does not hold what it should.`,
    'Everything else goes on; a backup may still have it whole.',
  )
}
