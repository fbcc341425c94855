// Events on SQLite: one process works on the inbox, in the order of arrival.
import { taken } from './steps.ts'
import { writeEvent } from '../sql/events.ts'
import type { WrittenEvent } from '../sql/waiting-events.ts'
import type { Database } from './database.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../ports/events.ts'

/** Within a transaction. */
export function addEvents(db: Database, events: readonly ReceivedEvent[], now: Millis): WrittenEvent[] {
  return events.flatMap(event => taken(db, writeEvent(event, now, 'last', db.damaged)))
}
