// Which webhook events become log records: the words of PIPESPAN_EVENTS, and the kinds they stand for.
import { eventTable, type EventRow } from './event-table.ts'
import { isPipelineOrJob, type EventKind } from './event-kind.ts'
import type { HookEvents } from '../port/webhook.ts'

/** Selects events of what operators do on the pages. */
export const operatorWord = 'operator'

/** The words that select events, in the table's order. */
export const eventWords: readonly string[] = [...eventTable.map(({ word }) => word), operatorWord]

export interface EventSelection extends HookEvents {
  /** The row of a selected kind; undefined for others. */
  row(kind: EventKind): EventRow | undefined
  /** True for kinds that go into the inbox: pipelines, jobs, and selected ones. */
  takes(kind: EventKind): boolean
}

export function selectEvents(words: readonly string[]): EventSelection {
  const rows = eventTable.filter(({ word }) => words.includes(word))
  const byKind = new Map(rows.flatMap(row => row.wire.map(kind => [kind, row] as const)))
  return {
    row: kind => byKind.get(kind),
    takes: kind => isPipelineOrJob(kind) || byKind.has(kind),
    flags: owner =>
      rows.filter(({ sentBy }) => owner === 'group' || sentBy === 'project').flatMap(({ flags }) => flags),
  }
}

/** All flags of hooks for these events. */
export const everyFlag: readonly string[] = [...new Set(eventTable.flatMap(({ flags }) => flags))]

export const noEvent: EventSelection = selectEvents([])

/** All events, for reading stored deliveries whatever is selected now. */
export const everyEvent: EventSelection = selectEvents(eventWords)
