// The data in a store that people may read within their scope. Only this data reaches the pages, the JSON API, live updates and `/mcp`.
import type { DeadLetters } from './outbox.ts'
import type { DocumentKind, Readable, Repositories, Repository } from './repository.ts'
import type { Reading } from '../sql/reading.ts'
import type { Runs } from './runs.ts'
import type { Views } from './views.ts'

/** The documents in the key-value table that the pages show. */
type ShownDocument =
  | ('polledProjects' | 'ownPipelines' | 'sweeps' | 'hooks' | 'budgets' | 'refusedEndpoints')
  | ('inventoryStates' | 'gaugeReadings')

export interface Reads {
  readonly views: Views
  readonly runs: Pick<Runs, 'get'>
  readonly outbox: DeadLetters
  /** Creates a feature's reader for its own tables. `projects` are full paths; the reader returns only data of these projects. */
  readonly on: <T extends object>(make: (reading: Reading) => T, projects?: ReadonlySet<string>) => T
  readonly repositories: { readonly [Name in ShownDocument]: Readable<Repositories[Name]> } & {
    /** Returns the documents of a feature. */
    of<Document extends object, Key extends keyof Document>(
      kind: DocumentKind<Document, Key>,
    ): Readable<Repository<Document, Key>>
  }
}
