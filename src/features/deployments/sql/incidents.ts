// Stores incidents in SQLite and PostgreSQL.
import { countable, listed, lockOfNumber, ownByNumber, writeReported } from './counted.ts'
import type { CountedTable, Reported } from './counted.ts'
import { json, number, optional, plainText, type Row } from '../../../core/store/sql/columns.ts'
import { mergeIncident, viewIncident } from '../model/incident.ts'
import type { CountedIncident, Incident, IncidentView } from '../model/incident.ts'
import { ownerOfReport } from '../../../core/store/sql/owners.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'
import { unbounded, type Reading } from '../../../core/store/sql/reading.ts'
import type { Reporter } from '../../../core/store/ports/runs.ts'
import type { Statements } from '../../../core/store/sql/statements.ts'

/** The platform's limit for the length of a project path. */
const maxPath = 512

const incidentTable: CountedTable<Incident, CountedIncident> = {
  table: 'incidents',
  content: json<Incident>('content'),
  merge: mergeIncident,
  own: ownByNumber('incidents'),
  columns: ['instance', 'project_id', 'iid', 'project', 'state', 'opened_at', 'changed_at'],
  values: incident => {
    const { state, openedAt, changedAt } = viewIncident(incident)
    const { instance, iid, project } = incident
    const path = project.path === undefined ? null : plainText(project.path).slice(0, maxPath)
    const opened = openedAt === undefined ? null : Math.round(openedAt)
    return [instance, project.id, iid, path, state, opened, Math.round(changedAt)]
  },
  uncounted: (incident, row) => {
    const { opening, closing } = countedOf(row)
    const isClosed = viewIncident(incident).state === 'closed'
    return [...(opening ? [] : ['opening']), ...(isClosed && !closing ? ['closing'] : [])]
  },
  isNothing: incident => viewIncident(incident).state === 'retyped',
  state: countedOf,
  setCounted: `opening_counted_at = coalesce(opening_counted_at, ?2), closing_counted_at = coalesce(closing_counted_at, ?3)`,
  countedValues: (counted, now) => [counted?.opening === true ? now : null, counted?.closing === true ? now : null],
  pruned: { where: 'd.changed_at < ?1', by: 'changed_at' },
}

function countedOf(row: Row | undefined): CountedIncident {
  return {
    opening: row !== undefined && openingOf(row) !== undefined,
    closing: row !== undefined && closingOf(row) !== undefined,
  }
}

export const incidentReporter: Reporter<Reported<Incident>> = {
  order: 30,
  locks: ({ report }) => [lockOfNumber('incidents', report)],
  write: (reports, within) => writeReported(incidentTable, reports, within),
  owner: ({ report }) => ownerOfReport(report, report.facts),
}

/** `prune` deletes incidents that have not changed since the given time. */
export function incidents(sql: Statements) {
  return { ...countable(sql, incidentTable), ...incidentReads(unbounded(sql)) }
}

export interface ShownIncident {
  readonly incident: Incident
  readonly view: IncidentView
}

type Chosen = Pick<PeriodFilter, 'project' | 'limit'>

export function incidentReads(reading: Reading) {
  const list = async (where: string, values: readonly number[], { project, limit }: Chosen) =>
    listed(
      reading,
      'incidents',
      { where: `${where} AND state <> 'retyped'`, values, by: 'opened_at', project, limit },
      (row): ShownIncident => {
        const incident = incidentTable.content(row)
        return { incident, view: viewIncident(incident) }
      },
    )
  return {
    /** Returns the incidents that were opened within a period, latest first. */
    opened: async ({ since, until, ...filter }: PeriodFilter) =>
      list('opened_at >= ?1 AND opened_at < ?2', [since, until], filter),
    /** Returns the open incidents, latest first. */
    open: async (filter: Chosen) => list(`state = 'opened' AND opened_at IS NOT NULL`, [], filter),
  }
}

const openingOf = optional(number, 'opening_counted_at')
const closingOf = optional(number, 'closing_counted_at')
