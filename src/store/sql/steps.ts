// The body of a transaction, written once for both databases: a generator that yields statements and receives their rows. SQLite runs it
// synchronously, PostgreSQL asynchronously.
import type { Row } from './columns.ts'

export type StepValue = string | number | null | Uint8Array

/** A statement with its values. */
export type StepOf = readonly [sql: string, values: readonly StepValue[]]

export type Steps<T> = Generator<StepOf, T, readonly Row[]>
