// Writes, counts, leases, prunes and lists incidents, for both databases.
import {
  incidentFigures,
  mergeIncident,
  viewIncident,
  type Incident,
  type IncidentFigures,
} from '../../model/incident.ts'
import { countingQueue } from './leased-queue.ts'
import { json, number, optional, record, type Row } from './columns.ts'
import type { Statements } from './statements.ts'
import { plainText } from './plain-text.ts'
import { writeEvent } from './events.ts'
import type { Counted } from '../ports/counted.ts'
import type { IncidentFilter, Incidents, ReportedIncident, ShownIncident } from '../ports/incidents.ts'
import type { DamagedRows } from './stored-json.ts'
import type { Millis } from '../../model/instant.ts'
import type { Steps, StepValue } from './steps.ts'
import type { WrittenEvent } from './waiting-events.ts'

export function* writeIncidents(reported: readonly ReportedIncident[], now: Millis, damaged: DamagedRows): Steps<void> {
  for (const { incident, countIn } of reported) {
    const { instance, project, iid } = incident
    const [row] = yield [selectOwn, [instance, project.id, iid]]
    if (row === undefined) {
      if (viewIncident(incident).state === 'retyped') continue
      yield [insert, [instance, project.id, iid, ...valuesOf(incident), now + countIn, now]]
      continue
    }
    const known = damaged.orNothing({ incident: row.id }, 'it is known by what is reported of it from now on', () =>
      content(row),
    )
    const merged = known === undefined ? incident : mergeIncident(known, incident)
    if (known !== undefined && JSON.stringify(merged) === JSON.stringify(known)) continue
    const isClosed = viewIncident(merged).state === 'closed'
    const isDue = openingOf(row) === undefined || (isClosed && closingOf(row) === undefined)
    yield [update, [...valuesOf(merged), isDue ? (dueOf(row) ?? now + countIn) : null, idOf(row)]]
  }
}

/** Serialises all writers of one incident. */
export function lockOfIncident({ instance, project, iid }: Pick<Incident, 'instance' | 'project' | 'iid'>): string {
  return `incident ${iid} ${project.id} ${instance}`
}

/** The lock of an incident of which something is to be counted; undefined for any other. */
export function* namedIncident(id: number): Steps<string | undefined> {
  const [row] = yield ['SELECT instance, project_id, iid FROM incidents WHERE id = ?1 AND due_at IS NOT NULL', [id]]
  if (row === undefined) return undefined
  const project = { id: Number(row.project_id) }
  return lockOfIncident({ instance: String(row.instance), project, iid: Number(row.iid) })
}

export interface DoneIncident {
  readonly figures: IncidentFigures | undefined
  readonly counted?: Counted | undefined
  readonly written: readonly WrittenEvent[]
}

export function* countIncident(
  id: number,
  now: Millis,
  damaged: DamagedRows,
  decide: Parameters<Incidents['count']>[1],
): Steps<DoneIncident> {
  const [row] = yield [`${selectAll} WHERE id = ?1 AND due_at IS NOT NULL`, [id]]
  if (row === undefined) return { figures: undefined, written: [] }
  const incident = damaged.orNothing({ incident: id }, 'it is not counted', () => content(row))
  const view = incident && viewIncident(incident)
  const [opening, closing] = [openingOf(row), closingOf(row)]
  const ending = closing ?? (view?.state === 'closed' ? now : null)
  yield [
    'UPDATE incidents SET due_at = NULL, leased = 0, opening_counted_at = ?1, closing_counted_at = ?2 WHERE id = ?3',
    [opening ?? now, ending, id],
  ]
  const counting = {
    knownAt: number('known_at')(row),
    isOpeningCounted: opening !== undefined,
    isClosingCounted: closing !== undefined,
  }
  const figures = view && incidentFigures(view, counting)
  if (incident === undefined || figures === undefined) return { figures: undefined, written: [] }
  const counted = decide(incident, figures)
  const written = counted.sent === undefined ? [] : yield* writeEvent(counted.sent, now, 'last', damaged)
  return { figures, counted, written }
}

export function incidentStatements(sql: Statements): Omit<Incidents, 'count'> {
  const queue = countingQueue(sql, 'incidents', 'incident', record({ id: idOf, incident: content }))
  const shown = (rows: readonly Row[]): ShownIncident[] =>
    rows.flatMap(row => {
      const incident = sql.damaged.orNothing({ incident: row.id }, 'it is not shown', () => content(row))
      return incident === undefined ? [] : { incident, view: viewIncident(incident) }
    })
  const list = async (which: string, { project, limit }: IncidentFilter, values: readonly number[]) => {
    const own = project === undefined ? '' : `AND project = ?${values.length + 2}`
    const order = `ORDER BY opened_at DESC, id DESC LIMIT ?${values.length + 1}`
    const given = [...values, limit, ...(project === undefined ? [] : [project])]
    return shown(await sql.all(`${selectAll} WHERE ${which} AND state <> 'retyped' ${own} ${order}`, given))
  }
  return {
    take: async (limit, leaseMs) => queue.take(limit, leaseMs),
    extend: async (ids, leaseMs) => queue.extend(ids, leaseMs),
    prune: async (before, limit) =>
      sql.change(
        'DELETE FROM incidents WHERE id IN (SELECT id FROM incidents WHERE changed_at < ?1 ORDER BY changed_at LIMIT ?2)',
        [before, limit],
      ),
    opened: async ({ since, until, ...filter }) => list('opened_at >= ?1 AND opened_at < ?2', filter, [since, until]),
    open: async filter => list(`state = 'opened' AND opened_at IS NOT NULL`, filter, []),
  }
}

/** The platform's limit for the path of a project. */
const longestPath = 512

function valuesOf(incident: Incident): StepValue[] {
  const { state, openedAt, changedAt } = viewIncident(incident)
  const { path } = incident.project
  return [
    path === undefined ? null : plainText(path).slice(0, longestPath),
    ...[state, openedAt === undefined ? null : Math.round(openedAt), Math.round(changedAt), JSON.stringify(incident)],
  ]
}

const selectAll = 'SELECT * FROM incidents'
const selectOwn = `${selectAll} WHERE instance = ?1 AND project_id = ?2 AND iid = ?3`
const insert = `INSERT INTO incidents (instance, project_id, iid, project, state, opened_at, changed_at, content, due_at, known_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
const update = `UPDATE incidents SET project = ?1, state = ?2, opened_at = ?3, changed_at = ?4, content = ?5, due_at = ?6,
  leased = CASE WHEN due_at = ?6 THEN leased ELSE 0 END WHERE id = ?7`

const idOf = number('id')
const content = json<Incident>('content')
const dueOf = optional(number, 'due_at')
const openingOf = optional(number, 'opening_counted_at')
const closingOf = optional(number, 'closing_counted_at')
