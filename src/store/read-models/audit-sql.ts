// The SQL of the list of audit events.
import { number, type Row } from '../sql/columns.ts'
import { storedAny, type DamagedRows } from '../sql/stored-json.ts'
import { isEvent } from '../../model/event.ts'
import type { Ask } from '../sql/statements.ts'
import type { AuditCursorPlace, Views } from '../ports/views.ts'

export function auditOn(ask: Ask, damaged: DamagedRows): Pick<Views, 'audit'> {
  return {
    audit: async (limit, after = newest) => {
      const rows = await ask(
        // By the index `audit_events`.
        `SELECT e.chunk_id, e.happened_at, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.kind = 'audit' AND (e.happened_at, e.chunk_id) < (?1, ?2)
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?3`,
        [after.at, after.id, limit + 1],
      )
      const shown = rows.slice(0, limit)
      const events = shown.flatMap(row => {
        const chunk = damaged.orNothing({ chunk: row.chunk_id }, 'it is not shown', () => storedAny(row.content))
        return chunk !== undefined && isEvent(chunk) ? chunk : []
      })
      const last = shown.at(-1)
      return rows.length > limit && last !== undefined ? { events, next: placeOf(last) } : { events }
    },
  }
}

/** Before the newest event. */
const newest: AuditCursorPlace = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

const idOf = number('chunk_id')
const atOf = number('happened_at')

function placeOf(row: Row): AuditCursorPlace {
  return { at: atOf(row), id: idOf(row) }
}
