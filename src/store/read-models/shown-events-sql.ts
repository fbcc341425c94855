// The SQL of the events of a timeline.
import { inScope } from '../sql/project-scope.ts'
import { storedAny, type DamagedRows } from '../sql/stored-json.ts'
import { isEvent } from '../../model/event.ts'
import type { Ask, Value } from '../sql/statements.ts'
import type { Views } from '../ports/views.ts'

export function shownEventsOn(ask: Ask, damaged: DamagedRows): Pick<Views, 'shownEvents'> {
  return {
    shownEvents: async ({ as, project, since, until, limit }) => {
      const values: Value[] = [as, since, until, limit]
      const own = project === undefined ? '' : `AND ${inScope('e.project', project, path => `?${values.push(path)}`)}`
      const rows = await ask(
        `SELECT e.chunk_id, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.shown_as = ?1 AND e.happened_at >= ?2 AND e.happened_at < ?3 ${own}
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?4`,
        values,
      )
      return rows.flatMap(row => {
        const chunk = damaged.orNothing({ chunk: row.chunk_id }, 'it is not shown', () => storedAny(row.content))
        return chunk !== undefined && isEvent(chunk) ? chunk : []
      })
    },
  }
}
