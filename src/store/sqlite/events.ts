// Events on SQLite: one process works the inbox off, in the order of arrival.
import { writeEvent, type WrittenEvent } from '../sql/events.ts'
import type { Database } from './database.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../ports/events.ts'

/** Within a transaction. */
export function addEvents(db: Database, events: readonly ReceivedEvent[], now: Millis): WrittenEvent[] {
  return events.flatMap(event => {
    const steps = writeEvent(event, now, 'last')
    let step = steps.next()
    while (step.done !== true) {
      const { sql, values } = step.value
      step = steps.next(db.prepare(sql).all(...values))
    }
    return step.value
  })
}
