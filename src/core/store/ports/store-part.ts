// The tables that a feature adds to the store. The store receives these tables when it is opened, and does not know which features they belong to.
import type { Kept, KeepTimes, Steps } from '../maintenance/steps.ts'
import type { Reading } from '../sql/reading.ts'
import type { RunQuery } from './views.ts'
import type { Statements } from '../sql/statements.ts'
import type { StoredTimes } from '../sql/too-far-ahead.ts'

export interface StorePart extends StoredTimes {
  /** The name of the feature. Under this name, the store records how many of the feature's schema steps have run. */
  readonly name: string
  /** The feature's schema, as numbered steps. A released step is never edited. */
  readonly schema: readonly ((dialect: Dialect) => string)[]
  /** How long the feature's rows are kept, and how they are deleted. */
  readonly kept?: (on: On, times: KeepTimes, steps: Steps) => readonly Kept[]
  /** The feature's tables that are queues (`sql/leased-queue.ts`). On SQLite, their leases end when the serving process starts. */
  readonly queues?: readonly string[]
  /** Narrows a search by job name to the runs that may have such a job, so that the search reads fewer runs. If undefined, any run may have one. */
  readonly findJob?: (reading: Reading, job: string, query: RunQuery) => Promise<KnownJob | undefined>
}

export interface KnownJob {
  /** Ids of the projects that have had a job of this name. */
  readonly projects: readonly number[]
  /** The path of the project, if only one project has had such a job and that project's path has never changed. */
  readonly only?: string | undefined
  /** The creation time of the earliest pipeline with this job. */
  readonly since: number
}

/** Calls `make` with access to the store's SQL, and returns the repository that it creates. */
export type On = <T>(make: (sql: Statements) => T) => T

// The parts of the schema whose SQL differs between the two databases.

export interface Dialect {
  /** The SQL type of a primary key that the database assigns in ascending order. */
  readonly id: string
  /** The SQL type of a primary key that the daemon assigns. */
  readonly ownId: string
  readonly bytes: string
  /** The suffix of the statement that creates a table whose rows are stored in the order of their primary key. */
  readonly byKey: string
}
