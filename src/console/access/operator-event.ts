// Events for operators' actions on the pages or through the JSON API, and the table of their attributes.
import { randomUUID } from 'node:crypto'
import type { Millis } from '../../model/instant.ts'
import type { OperatorAction } from '../ports.ts'
import type { PlatformEvent } from '../../model/event.ts'

const name = 'pipespan.operator.action'

/** The attributes of operator events. Each has a type, a note for the documentation, and the field of the action that contains its value. */
const attributes: Readonly<Record<string, readonly ['string' | 'int', string, keyof OperatorAction]>> = {
  'user.name': [
    'string',
    'the value of the trusted header; without that header, `admin token` or `this machine`',
    'user',
  ],
  'pipespan.operator.role': ['string', '`operator`', 'role'],
  'pipespan.operator.action': ['string', '`retry` or `drop` (dead letters), `try_now` (postponed exports)', 'action'],
  'pipespan.operator.target': ['string', 'IDs of dead letters, the name of a destination, or `all`', 'target'],
  'pipespan.operator.count': ['int', 'number of exports that the action changed', 'count'],
}

/** Returns the section of docs/EVENTS.md about operator events. */
export function operatorReference(): string {
  const rows = Object.entries(attributes).map(([key, [type, note]]) => `| \`${key}\` | ${type} | ${note} |`)
  return [
    "## Operators' actions",
    `With \`operator\` in \`PIPESPAN_EVENTS\`: \`${name}\` (INFO) after somebody has retried or dropped dead letters, or has retried postponed exports, on the pages or through their API. The log also records these actions. Actions on the command line are not recorded.`,
    ['| attribute | type | note |', '| --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n')
}

/**
 * Creates the event for an operator's action. `instance` is the platform whose pipelines the daemon reads, because every event must belong to a
 * platform.
 */
export function operatorEvent(action: OperatorAction, instance: string, at: Millis): PlatformEvent {
  const key = `operator ${randomUUID()}`
  const { user, action: what, target, count } = action
  return {
    ...{ instance, kind: 'operator', name, at, severity: 'info', object: key, key, content: key },
    body: `${user}: ${what} ${target} (${count})`,
    attributes: Object.fromEntries(Object.entries(attributes).map(([attribute, [, , of]]) => [attribute, action[of]])),
  }
}
