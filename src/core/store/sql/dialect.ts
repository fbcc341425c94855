// Where the databases differ in the text of the schema.

export interface Dialect {
  /** A primary key that the database assigns in ascending order. */
  readonly id: string
  /** A primary key that this program assigns. */
  readonly ownId: string
  readonly bytes: string
  /** The suffix of a table whose rows are stored in the order of their primary key. */
  readonly byKey: string
}
