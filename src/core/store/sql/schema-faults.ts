// The errors for a store whose schema this version cannot use.
import { reasonOf, StoreError } from '../../../lib/fault.ts'

/** Recognises, by SQLite's message or PostgreSQL's code, statements that failed because no released version has such a schema. */
export const isOfTheSchema = {
  sqlite: /no such (table|column|index)|has no column named|already exists|duplicate column name/,
  postgres: /^(42P01|42703|42P07|42701|42704|42710)$/,
} as const

/** The error for a schema that was created by an unreleased version, or changed by hand. */
export function otherSchema(store: string, error: unknown, start: string): StoreError {
  return new StoreError(
    `${store} has a schema that no released version has: ${reasonOf(error)}.`,
    leaveOldSchema(start),
    { cause: error },
  )
}

/** Throws StoreError if the schema is more than one step ahead of this version. `newest`: the last step of this version. */
export function refuseNewer(store: string, number: number, newest: number, of = ''): void {
  if (number <= newest + 1) return
  throw new StoreError(
    `${store} has schema ${number}${of}; this version supports schemas up to ${newest + 1}.`,
    'Run the Pipespan version that wrote it, or a newer one.',
  )
}

/** Returns the remedy for a schema that this version cannot read. `start`: the new store to start this version with, such as 'a new database'. */
export function leaveOldSchema(start: string): string {
  return `Let the version that wrote it export its pending data, stop it, then start this version with ${start}.`
}
