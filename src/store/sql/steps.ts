// Steps of a transaction that both databases take: each asks one statement and goes on with its rows.
import type { Row } from './columns.ts'

export type StepValue = string | number | null | Uint8Array

/** A statement with its values. */
export type StepOf = readonly [sql: string, values: readonly StepValue[]]

/** Yields a statement with its values, and is given its rows. */
export type Steps<T> = Generator<StepOf, T, readonly Row[]>
