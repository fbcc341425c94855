// The optional attribute with an event's name.
import type { AttributeRow } from './row.ts'

export const eventAttributes: readonly AttributeRow<{ readonly name: string }>[] = [
  {
    keys: ['event.name'],
    recurs: true,
    type: 'string',
    when: '`PIPESPAN_EVENTS_NAME_ATTRIBUTE`',
    note: "the event's name, as the field `event_name` has it",
    value: ({ name }) => name,
  },
]
