// The table of a run's text fields in pipeline lists, with one row per field. A row determines the field in the JSON API and its schema, the filter
// for the field (on the page, in the API and for MCP clients), what the text search finds, and the field's position in the list. Times, projects and
// figures are columns that the console itself defines (`console/pipelines/run-card.ts`).
//
// Without `isIndexed` a filter reads the runs themselves, newest first, and stops after some thousands of them. With `isIndexed` the value is also a
// column of the table `listed_runs`, so the filter searches the whole store. A new indexed column also needs a schema migration.
import { knownStatuses } from '../../../model/status.ts'
import type { PipelineFacts } from '../../../model/observation.ts'

export interface RunColumn {
  /** Returns the value of the field; undefined if it is unknown. */
  readonly of: (facts: PipelineFacts) => string | undefined
  /** The label before the value in the list. Without a label, the value is shown elsewhere in the list, or not at all. */
  readonly title?: string
  readonly filter?: {
    /** The label of the field in the filter form. */
    readonly label: string
    /** The description of the API parameter. */
    readonly description: string
    /** The values to choose from. If undefined, the user types in a value. */
    readonly options?: readonly string[]
    readonly isIndexed?: true
  }
  /** Returns the string that the text search matches against. It applies only to runs that are written after this function was declared. */
  readonly searched?: (facts: PipelineFacts) => string | undefined
}

export const runColumns = {
  ref: {
    of: ({ ref }) => ref,
    filter: { label: 'Branch or tag', description: 'Exact branch or tag.', isIndexed: true },
    searched: ({ ref }) => ref,
  },
  status: {
    of: ({ status }) => status,
    filter: {
      label: 'Status',
      description: `One of ${knownStatuses.join(', ')}.`,
      options: knownStatuses,
      isIndexed: true,
    },
  },
  source: {
    of: ({ source }) => source,
    filter: {
      label: 'Started by',
      description: 'What started the pipeline, such as `push`.',
      // The most common sources are listed first.
      options: ['push', 'merge_request_event', 'schedule', 'web', 'api', 'trigger', 'pipeline', 'parent_pipeline'],
      isIndexed: true,
    },
  },
  name: { of: ({ name }) => name, searched: ({ name }) => name },
  commit: { of: ({ commit }) => commit?.message, searched: ({ commit }) => commit?.message?.split('\n', 1)[0] },
  sha: { of: ({ sha }) => sha, searched: ({ sha }) => sha?.slice(0, 12) },
  user: {
    of: ({ user }) => user?.username,
    filter: { label: 'User', description: 'Exact name of the user who started the pipeline.' },
    searched: ({ user }) => user?.username,
  },
  url: { of: ({ url }) => url },
} as const satisfies Readonly<Record<string, RunColumn>>

type Columns = typeof runColumns
/** The columns by which lists can be filtered. */
export type RunFilter = {
  [Name in keyof Columns]: Columns[Name] extends { readonly filter: object } ? Name : never
}[keyof Columns]

/** All text columns of runs as a list, each with its name. */
export const eachRunColumn: readonly (readonly [name: string, column: RunColumn])[] = Object.entries(runColumns)

const filters = eachRunColumn.filter(([, { filter }]) => filter !== undefined)
export const runFilters = filters.map(([name]) => name as RunFilter)
/** The filters that have an index. If several of them are set, a run list uses the index of the filter that comes first here. */
export const indexedFilters = runFilters.filter(name => filterOf(name).isIndexed === true)

export function filterOf(name: RunFilter): NonNullable<RunColumn['filter']> {
  return runColumns[name].filter
}
