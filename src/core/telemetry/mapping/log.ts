// The attributes that log records have in addition to the attributes of their spans.
import type { AttributeRow } from './row.ts'
import type { TelemetrySettings } from '../settings.ts'

export interface LogSubject {
  readonly source: 'pipeline' | 'job'
  /** The severity text of the log record. */
  readonly level: string
  readonly verdict?: string | undefined
}

export const logAttributes: readonly AttributeRow<LogSubject>[] = [
  { keys: ['log.level'], type: 'string', when: 'always', note: "the severity's text", value: ({ level }) => level },
  { keys: ['log.source'], type: 'string', when: 'always', note: '`pipeline` or `job`', value: ({ source }) => source },
  {
    keys: ['platform.cicd.pipeline.run.verdict'],
    type: 'string',
    when: 'source `pipeline`, once it ended',
    note: 'one sentence: where it failed, or where its time went along the critical path; at most 500 characters. Usual durations and test reports are not known at that time; the verdict on the pages includes them',
    value: ({ verdict }) => verdict,
  },
]

// The optional attribute with the event name, for backends that do not show the field `event_name`.

interface NamedEvent {
  /** The event name as exported. */
  readonly name: string
  readonly settings: Pick<TelemetrySettings, 'eventNameAttribute'>
}

export const eventAttributes: readonly AttributeRow<NamedEvent>[] = [
  {
    keys: ['event.name'],
    recurs: true,
    type: 'string',
    when: '`PIPESPAN_EVENTS_NAME_ATTRIBUTE`',
    note: "the event's name, the same as in the field `event_name`",
    value: ({ name, settings }) => (settings.eventNameAttribute ? name : undefined),
  },
]
