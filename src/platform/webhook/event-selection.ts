// Selects the events that a daemon accepts and subscribes to. The names in PIPESPAN_EVENTS are names of event kinds in the table.
import { eventTable, type EventRow } from './event-table.ts'
import { isPipelineOrJob, type EventKind } from './event-kind.ts'
import type { HookEvents } from '../port/webhook.ts'

/** The name in PIPESPAN_EVENTS that selects events about operators' actions on the pages. */
export const operatorWord = 'operator'

/** All names that PIPESPAN_EVENTS accepts, in table order. */
export const eventWords: readonly string[] = [...eventTable.map(({ word }) => word), operatorWord]

export interface EventSelection extends HookEvents {
  /** Returns the table row for a selected kind; undefined for other kinds. */
  row(kind: EventKind): EventRow | undefined
  /** True for accepted kinds: pipelines, jobs, and the selected kinds. */
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

/** All webhook flags that subscribe to events in this table. */
export const allEventFlags: readonly string[] = [...new Set(eventTable.flatMap(({ flags }) => flags))]

export const noEvents: EventSelection = selectEvents([])

/** A selection of all events. It is used to read stored deliveries, whichever events the configuration selects. */
export const everyEvent: EventSelection = selectEvents(eventWords)
