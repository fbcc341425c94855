// The store as bare rows: what one store needs to become another. Knows no table by name but those that are of a moment.
import { z } from 'zod'

/** What a column of either database holds. */
export type Cell = null | number | string | Uint8Array

export type Cells = readonly Cell[]

export interface Table {
  readonly name: string
  /** The primary key's columns. */
  readonly key: readonly string[]
  readonly columns: readonly string[]
}

export interface Tables {
  /** The schema's number. */
  schema(): Promise<number>
  /** In the order in which they were created, so that rows come after those they refer to. */
  list(): Promise<readonly Table[]>
  count(table: Table): Promise<number>
  /** The greatest key; undefined when there is no row. */
  last(table: Table): Promise<Cells | undefined>
  /** Rows in the order of their keys, texts by their bytes, beyond `after`. */
  read(table: Table, after: Cells | undefined, limit: number): Promise<readonly Cells[]>
  /** All in one transaction; rows whose key is there already are left alone. */
  write(table: Table, rows: readonly Cells[]): Promise<void>
  /** To be called when all rows are written: ids of new rows follow those that were written. */
  finish(): Promise<void>
}

/**
 * What a process holds or proves for a moment, what waits to be written elsewhere (`Store.intoTables` has it written), and the
 * schema's own number: nothing of it is true of another store.
 */
export const momentary: readonly string[] = [
  'leases',
  'heartbeat',
  'wal_checkpoint',
  'unlisted_runs',
  'recent_delivery_keys',
  'pipespan_schema',
]

/** Stands in the source of a copy until a daemon serves it again: from then on that copy cannot be continued. */
export const storeCopy = z.object({ holder: z.string() })
export type StoreCopy = z.infer<typeof storeCopy>
