// Events on PostgreSQL: replicas may process deliveries in another order than that of their arrival.
import { placed } from './statements.ts'
import { writeEvent } from '../sql/events.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../ports/events.ts'
import type { Session } from './database.ts'

export async function addEvents(session: Session, events: readonly ReceivedEvent[], now: Millis): Promise<void> {
  if (events.length === 0) return
  // Nobody else decides on these objects meanwhile. Locked in one order by everybody.
  const objects = [...new Set(events.map(({ event }) => event.object))]
  await session.query(
    `SELECT pg_advisory_xact_lock(lock) FROM
       (SELECT DISTINCT hashtextextended(object, 0) AS lock FROM unnest($1::text[]) AS o (object) ORDER BY 1) AS locks`,
    [objects],
  )
  for (const event of events) {
    const steps = writeEvent(event, now, 'by arrival')
    let step = steps.next()
    while (step.done !== true) {
      const { sql, values } = step.value
      step = steps.next(await session.query(placed(sql), values))
    }
  }
}
