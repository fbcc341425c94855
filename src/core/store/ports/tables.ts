// The store as bare rows, for copying it into another one. It knows only those tables by name that are not copied.

/** A value of either database. */
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
  /** In the order of their creation, so that rows come after those that they refer to. */
  list(): Promise<readonly Table[]>
  count(table: Table): Promise<number>
  /** The greatest key; undefined for an empty table. */
  last(table: Table): Promise<Cells | undefined>
  /** The rows after the key `after`, in the order of their keys; texts in the order of their bytes. */
  read(table: Table, after: Cells | undefined, limit: number): Promise<readonly Cells[]>
  /** In one transaction; a row whose key exists already is skipped. */
  write(table: Table, rows: readonly Cells[]): Promise<void>
  /** To be called at the end: moves the sequences of ids beyond the rows that were written. */
  finish(): Promise<void>
}

/** Tables that are not copied: leases, the state of one process, and the numbers of the schemas. */
export const momentary: readonly string[] = ['leases', 'heartbeat', 'pipespan_store', 'schema_parts']
