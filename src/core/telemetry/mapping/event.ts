// The optional attribute with an event's name, for backends that do not show the log record's field `event_name`.
import type { AttributeRow } from './row.ts'
import type { TelemetrySettings } from '../settings.ts'

interface NamedEvent {
  /** As exported. */
  readonly name: string
  readonly settings: Pick<TelemetrySettings, 'eventNameAttribute'>
}

export const eventAttributes: readonly AttributeRow<NamedEvent>[] = [
  {
    keys: ['event.name'],
    recurs: true,
    type: 'string',
    when: '`PIPESPAN_EVENTS_NAME_ATTRIBUTE`',
    note: "the event's name, as the field `event_name` has it",
    value: ({ name, settings }) => (settings.eventNameAttribute ? name : undefined),
  },
]
