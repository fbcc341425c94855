// Rows of running totals as the model has them, for both databases: they name their columns alike. A damaged one is passed over.
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { ActiveRuns, ProjectIncrements, SeriesTotal } from '../../model/totals.ts'
import type { Row } from './rows.ts'

/** What an increment is added to; undefined where it is damaged: it begins anew, as after a restart of a counter. */
export function knownSeries(damaged: DamagedRows, row: Row): SeriesTotal | undefined {
  return damaged.orNothing(namesOf(row), 'it begins anew', () => seriesOf(row))
}

/** A project's totals as they are sent: those of its series that are whole. */
export function sentSeries(damaged: DamagedRows, rows: readonly Row[]): SeriesTotal[] {
  return rows.flatMap(row => {
    const read = (): SeriesTotal => {
      storedJson(row.attributes)
      return seriesOf(row)
    }
    return damaged.orNothing(namesOf(row), 'it is not sent', read) ?? []
  })
}

/** Undefined where it is damaged: the project's next pipeline writes it anew. */
export function sentProject(damaged: DamagedRows, row: Row): ProjectIncrements['project'] | undefined {
  const { instance, project_id: projectId } = row
  return damaged.orNothing({ totals: projectId, instance }, 'its metrics are not sent', () => storedJson(row.facts))
}

/** Runs under way by project, name and status; those whose project is damaged are left out. */
export function activeRuns(damaged: DamagedRows, rows: readonly Row[]): ActiveRuns[] {
  return rows.flatMap(row => {
    const key = { instance: row.instance as string, projectId: row.project_id as number }
    const stored = damaged.orNothing({ runsOf: key.projectId, instance: key.instance }, 'they are not counted', () =>
      storedJson<{ facts: ProjectIncrements['project'] }>(row.project),
    )
    if (stored === undefined) return []
    const name = row.name === null ? {} : { name: row.name as string }
    return [{ key, project: stored.facts, ...name, status: row.status as string, count: row.runs as number }]
  })
}

function namesOf({ project, metric, series }: Row): Record<string, unknown> {
  return { totals: project, metric, series }
}

function seriesOf(row: Row): SeriesTotal {
  return {
    metric: row.metric as string,
    attributes: row.attributes as string,
    amount: storedJson(row.amount),
    startedAt: row.started_at as number,
  }
}
