// Which of the platform's webhook events become log records: the words of PIPESPAN_EVENTS, and what they stand for on the wire.
import { eventTable, type EventRow } from './event-table.ts'
import { isPipelineOrJob, type EventKind } from './event-kind.ts'

/** Events that no webhook reports: of what became slower or less reliable, found in what was reported. */
export const regressionWord = 'regression'

/** The words that select events, in the table's order. */
export const eventWords: readonly string[] = [...eventTable.map(({ word }) => word), regressionWord]

export interface EventSelection {
  /** The row of a selected kind; undefined for one that is not selected, or that becomes no event. */
  row(kind: EventKind): EventRow | undefined
  /** True for what goes into the inbox: pipelines, jobs, and what is selected. */
  takes(kind: EventKind): boolean
  /** The flags that a hook needs, beside those of pipelines and jobs. `project`: a project's hook has those of groups not. */
  flags(owner: 'project' | 'group'): readonly string[]
}

export function selectEvents(words: readonly string[]): EventSelection {
  const rows = eventTable.filter(({ word }) => words.includes(word))
  const byKind = new Map(rows.flatMap(row => row.wire.map(kind => [kind, row] as const)))
  return {
    row: kind => byKind.get(kind),
    takes: kind => isPipelineOrJob(kind) || byKind.has(kind),
    flags: owner =>
      rows
        .filter(({ sentBy }) => sentBy !== 'system' && (owner === 'group' || sentBy === 'project'))
        .flatMap(({ flags }) => flags),
  }
}

/** All flags that a hook may have for them. */
export const everyFlag: readonly string[] = [...new Set(eventTable.flatMap(({ flags }) => flags))]

export const noEvent: EventSelection = selectEvents([])

/** Every event that this version knows: for whoever reads what was stored or is shown, whatever is selected now. */
export const everyEvent: EventSelection = selectEvents(eventWords)
