// Typed column readers, for both databases. They check the type of each column, so that other code does not have to.
import { DataError } from '../../../lib/fault.ts'
import { storedJson } from './stored-json.ts'
import type { RunKey } from '../../../model/observation.ts'

/** A value that either database can store. */
export type Cell = null | number | string | Uint8Array

/** A database row, by column name. */
export type Row = Readonly<Record<string, unknown>>

/** Reads one column of a row. Throws DataError if its type is not the expected one. */
export type Column<T> = (row: Row) => T

export function number(name: string): Column<number> {
  return row => {
    const value = row[name]
    return typeof value === 'number' ? value : damaged(name)
  }
}

export function text(name: string): Column<string> {
  return row => {
    const value = row[name]
    return typeof value === 'string' ? value : damaged(name)
  }
}

/** Reads a text column whose value must be one of `values`. */
export function oneOf<const T extends string>(name: string, values: readonly T[]): Column<T> {
  return row => values.find(one => one === row[name]) ?? damaged(name)
}

export function bytes(name: string): Column<Uint8Array> {
  return row => {
    const value = row[name]
    return value instanceof Uint8Array ? value : damaged(name)
  }
}

export function cell(name: string): Column<Cell> {
  return row => {
    const value = row[name]
    if (value === null || typeof value === 'number' || typeof value === 'string' || value instanceof Uint8Array)
      return value
    return damaged(name)
  }
}

/** Reads a JSON column that this program has written, without validating it. */
export function json<T>(name: string): Column<T> {
  return row => storedJson<T>(row[name])
}

/** Reads a column that may be null. Null becomes undefined. */
export function optional<T>(column: (name: string) => Column<T>, name: string): Column<T | undefined> {
  const read = column(name)
  return row => (row[name] === null ? undefined : read(row))
}

type Columns = Readonly<Record<string, Column<unknown>>>

/** Combines column readers into a row reader: `record({ pipelineId: number('pipeline_id') })(row).pipelineId`. */
export function record<C extends Columns>(columns: C): (row: Row) => { [Name in keyof C]: ReturnType<C[Name]> } {
  const all = Object.entries(columns)
  return row => {
    const found: Record<string, unknown> = {}
    for (const [name, read] of all) found[name] = read(row)
    return found as never
  }
}

export const keyOf: (row: Row) => RunKey = record({ instance: text('instance'), pipelineId: number('pipeline_id') })

function damaged(name: string): never {
  throw new DataError(
    `The column ${name} of a stored row has an unexpected value.`,
    'Other rows are not affected; a backup may still have this one intact.',
  )
}

/** Removes or replaces characters that a text column cannot store: PostgreSQL rejects NUL, and a lone surrogate cannot be encoded as UTF-8. */
export function plainText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
