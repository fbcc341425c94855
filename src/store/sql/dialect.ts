// The words of the schema that differ between the databases.

/** What each database has its own words for. */
export interface Dialect {
  /** A primary key that is given by the database, in rising order. */
  readonly id: string
  /** The same, where no number may come twice, even after its row is gone. */
  readonly idForGood: string
  /** A primary key that is another table's. */
  readonly ownId: string
  readonly bytes: string
  /** Behind a table whose rows lie in the order of their primary key. */
  readonly byKey: string
}
