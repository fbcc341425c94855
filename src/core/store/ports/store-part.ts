// What a feature adds to the store: tables of its own. The store is given these parts when it is opened, and does not know what they are. Repositories
// for them are made from its statements (`On`).
import type { Kept, KeepTimes, Steps } from '../maintenance/steps.ts'
import type { Reading } from '../sql/reading.ts'
import type { RunQuery } from './views.ts'
import type { Statements } from '../sql/statements.ts'
import type { StoredTimes } from '../sql/too-far-ahead.ts'

export interface StorePart extends StoredTimes {
  /** That of the feature. The store remembers under it how many steps of the schema were done. */
  readonly name: string
  /** Its tables, as numbered steps; a released one is never edited. */
  readonly schema: readonly ((dialect: Dialect) => string)[]
  /** How long its rows are kept, and how they are deleted. */
  readonly kept?: (on: On, times: KeepTimes, steps: Steps) => readonly Kept[]
  /** Its tables that are queues (`sql/leased-queue.ts`): their leases end when the process that serves a file starts. */
  readonly queues?: readonly string[]
  /** Which runs may have a job of this name, for searches, which read whole runs; undefined: any may. */
  readonly findJob?: (reading: Reading, job: string, query: RunQuery) => Promise<KnownJob | undefined>
}

export interface KnownJob {
  /** Ids of the projects that have had a job of this name. */
  readonly projects: readonly number[]
  /** The path of the only such project, if the path has never changed. */
  readonly only?: string | undefined
  /** No pipeline with the job was created before. */
  readonly since: number
}

/** Makes a repository from the statements of the store. */
export type On = <T>(make: (sql: Statements) => T) => T

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
