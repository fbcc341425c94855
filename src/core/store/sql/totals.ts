// Running totals and active runs, for both databases. Damaged rows are skipped.
import { json, number, optional, record, text, type Row } from './columns.ts'
import type { Totals } from '../ports/totals.ts'
import { activeJobs } from './active-jobs.ts'
import { createFold } from './fold-totals.ts'
import { nameOfRow, projectKey, projectOfSeries, seriesOf } from './moving-totals.ts'
import type { ActiveRuns, ProjectTotals, SeriesTotal } from '../../../model/totals.ts'
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { Statements } from './statements.ts'

export function totals(sql: Statements): Totals {
  const fold = createFold(sql)
  return {
    fold,
    read: async (limit, from = 0) => {
      if (from === 0) await fold()
      const rows = await sql.all(selectProjects, [from, limit])
      const series = Map.groupBy(await sql.all(selectSeries, [from, limit]), projectOfSeries)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        // Read last, so that no series has a start after the time at which it is sent.
        now: await sql.now(),
        projects: rows.flatMap(row => projectTotals(sql.damaged, row, series.get(id(row)) ?? []) ?? []),
        ...(last === undefined ? {} : { next: id(last) }),
      }
    },
    metrics: async () => {
      await fold()
      return (await sql.all(selectMetrics)).map(row => text('metric')(row))
    },
    ofMetric: async (metric, limit, from = 0) => {
      const counts = await sql.all(selectCounts, [metric, from, limit])
      const { last, isWhole } = pageWithin(limit, counts)
      const rows = await sql.all(selectOfMetric, [metric, from, last])
      const now = await sql.now()
      const projects = [...Map.groupBy(rows, projectOfSeries).values()].flatMap(
        some => projectTotals(sql.damaged, some[0] ?? {}, some) ?? [],
      )
      return { now, projects, ...(isWhole && counts.length < limit ? {} : { next: last }) }
    },
    active: async () => (await sql.all(selectActive)).flatMap(row => activeRuns(sql.damaged, row) ?? []),
    activeJobs: async take => activeJobs(sql, take),
  }
}

const page = 'SELECT id FROM totals_projects WHERE id > ?1 ORDER BY id LIMIT ?2'
const selectProjects = `SELECT * FROM totals_projects WHERE id IN (${page}) ORDER BY id`
const selectSeries = `SELECT * FROM totals WHERE project IN (${page}) ORDER BY project, metric, attributes`

/** Each name is looked up in the index: it may have millions of entries. */
const selectMetrics = `
  WITH RECURSIVE names (metric) AS (
    SELECT min(metric) FROM totals
    UNION ALL SELECT (SELECT min(metric) FROM totals WHERE metric > names.metric) FROM names WHERE names.metric IS NOT NULL
  ) SELECT metric FROM names WHERE metric IS NOT NULL`
const selectCounts = `
  SELECT project, count(*) AS series FROM totals WHERE metric = ?1 AND project > ?2
  GROUP BY project ORDER BY project LIMIT ?3`
const selectOfMetric = `
  SELECT t.*, p.instance, p.project_id, p.profile, p.facts FROM totals t JOIN totals_projects p ON p.id = t.project
  WHERE t.metric = ?1 AND t.project > ?2 AND t.project <= ?3 ORDER BY t.project, t.attributes`

/** The last project of a page of about `limit` series, and whether the page has all that were counted. */
function pageWithin(limit: number, counts: readonly Row[]): { readonly last: number; readonly isWhole: boolean } {
  let sum = 0
  const at = counts.findIndex(row => (sum += countOf(row)) >= limit)
  return { last: projectOfSeries(counts.at(at) ?? { project: 0 }), isWhole: at === -1 }
}

/** The number of runs for each project, name and status, with the project of the newest one, which has the current name. */
const selectActive = `
  SELECT instance, project_id, name, status, project, runs FROM (
    SELECT instance, project_id, name, status, project, count(*) OVER alike AS runs,
           row_number() OVER (alike ORDER BY changed_at DESC) AS place
    FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')
    WINDOW alike AS (PARTITION BY instance, project_id, name, status)
  ) AS active WHERE place = 1 ORDER BY instance, project_id, name, status`

const id = number('id')
const countOf = number('series')
const facts = json<ProjectTotals['project']>('facts')
const profile = text('profile')

/** Undefined if the project is damaged: its next pipeline will repair it. */
function projectTotals(damaged: DamagedRows, row: Row, series: readonly Row[]): ProjectTotals | undefined {
  const { instance, project_id: projectId } = row
  return damaged.orNothing({ totals: projectId, instance }, 'its metrics are not sent', () => ({
    ...{ key: projectKey(row), project: facts(row), profile: profile(row) },
    series: series.flatMap(one => sentSeries(damaged, one) ?? []),
  }))
}

function sentSeries(damaged: DamagedRows, row: Row): SeriesTotal | undefined {
  return damaged.orNothing(nameOfRow(row), 'it is not sent', () => {
    storedJson(row.attributes)
    return seriesOf(row)
  })
}

const active = record({ name: optional(text, 'name'), status: text('status'), count: number('runs') })
const activeProject = json<{ facts: ActiveRuns['project'] }>('project')

function activeRuns(damaged: DamagedRows, row: Row): ActiveRuns | undefined {
  return damaged.orNothing({ runsOf: row.project_id, instance: row.instance }, 'they are not counted', () => ({
    ...{ key: projectKey(row), project: activeProject(row).facts },
    ...active(row),
  }))
}
