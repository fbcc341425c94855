// The SQL of the lists of events: of audit events, and of those of a timeline.
import { number, record, type Row } from '../sql/columns.ts'
import { inScope } from '../sql/project-scope.ts'
import { storedAny } from '../sql/stored-json.ts'
import { isEvent, type EventChunk } from '../../../model/event.ts'
import type { Reading } from '../sql/reading.ts'
import type { Value } from '../sql/statements.ts'
import type { AuditCursorPlace, Views } from '../ports/views.ts'

export function eventsOn({ ask, damaged }: Reading): Pick<Views, 'audit' | 'shownEvents'> {
  const eventOf = (row: Row): EventChunk | [] => {
    const chunk = damaged.orNothing({ chunk: row.chunk_id }, 'it is not shown', () => storedAny(row.content))
    return chunk !== undefined && isEvent(chunk) ? chunk : []
  }
  return {
    audit: async (limit, after = newest) => {
      const rows = await ask(
        // By the index `audit_events`.
        `SELECT e.chunk_id, e.happened_at, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.kind = 'audit' AND (e.happened_at, e.chunk_id) < (?1, ?2) AND {visible event e}
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?3`,
        [after.at, after.id, limit + 1],
      )
      const shown = rows.slice(0, limit)
      const events = shown.flatMap(eventOf)
      const last = shown.at(-1)
      return rows.length > limit && last !== undefined ? { events, next: placeOf(last) } : { events }
    },
    shownEvents: async ({ as, project, since, until, limit }) => {
      const values: Value[] = [as, since, until, limit]
      const own = project === undefined ? '' : `AND ${inScope('e.project', project, path => `?${values.push(path)}`)}`
      const rows = await ask(
        `SELECT e.chunk_id, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.shown_as = ?1 AND e.happened_at >= ?2 AND e.happened_at < ?3 AND {visible event e} ${own}
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?4`,
        values,
      )
      return rows.flatMap(eventOf)
    },
  }
}

/** Before the newest event. */
const newest: AuditCursorPlace = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

const placeOf: (row: Row) => AuditCursorPlace = record({ at: number('happened_at'), id: number('chunk_id') })
