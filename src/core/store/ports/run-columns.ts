// The texts that lists of pipelines have of each run, one row for each. A row determines its field in the JSON API and its schema, the filter by it (on the
// page, in the API and for programs that ask by MCP), what the search by words finds, and its place in the list. Times, projects and figures are the
// console's own columns (`console/pipelines/run-card.ts`).
//
// Without `isIndexed` a filter reads the runs themselves, the newest first, and stops after some thousands of them. With it the text is also a column of
// the table `listed_runs`, where whole stores are searched: that takes a step of the schema, too.
import { knownStatuses } from '../../../model/status.ts'
import type { PipelineFacts } from '../../../model/observation.ts'

export interface RunColumn {
  /** Undefined: unknown. */
  readonly of: (facts: PipelineFacts) => string | undefined
  /** Shown in front of it in the list. Without a title the list shows it elsewhere, or not at all. */
  readonly title?: string
  readonly filter?: {
    /** The label of its field in the form. */
    readonly label: string
    /** The description of its parameter. */
    readonly description: string
    /** The values to choose from; undefined: the value is typed. */
    readonly options?: readonly string[]
    readonly isIndexed?: true
  }
  /** What the search by words finds of it, in runs that are written after this function was declared. */
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
      description: 'What started it, such as `push`.',
      // Common ones first.
      options: ['push', 'merge_request_event', 'schedule', 'web', 'api', 'trigger', 'pipeline', 'parent_pipeline'],
      isIndexed: true,
    },
  },
  name: { of: ({ name }) => name, searched: ({ name }) => name },
  commit: { of: ({ commit }) => commit?.message, searched: ({ commit }) => commit?.message?.split('\n', 1)[0] },
  sha: { of: ({ sha }) => sha, searched: ({ sha }) => sha?.slice(0, 12) },
  user: {
    of: ({ user }) => user?.username,
    filter: { label: 'User', description: 'Exact name of the user who started it.' },
    searched: ({ user }) => user?.username,
  },
  url: { of: ({ url }) => url },
} as const satisfies Readonly<Record<string, RunColumn>>

type Columns = typeof runColumns
/** The columns by which lists can be filtered. */
export type RunFilter = {
  [Name in keyof Columns]: Columns[Name] extends { readonly filter: object } ? Name : never
}[keyof Columns]

/** The same columns as a list, each with its name. */
export const eachRunColumn: readonly (readonly [name: string, column: RunColumn])[] = Object.entries(runColumns)

const filters = eachRunColumn.filter(([, { filter }]) => filter !== undefined)
export const runFilters = filters.map(([name]) => name as RunFilter)
/** If there are several filters, a list goes through the index of the first. */
export const indexedFilters = runFilters.filter(name => filterOf(name).isIndexed === true)

export function filterOf(name: RunFilter): NonNullable<RunColumn['filter']> {
  return runColumns[name].filter
}
