// The SQL that reads trends. Rows are added up in memory, because their histograms are JSON.
import { branchClasses } from '../../../model/pipeline.ts'
import { inScope } from '../../../core/store/ports/project-scope.ts'
import { json, number, record, text, oneOf, type Row } from '../../../core/store/sql/columns.ts'
import type { Reading, ScopedSql } from '../../../core/store/sql/reading.ts'
import type { Value } from '../../../core/store/sql/statements.ts'
import { retainedOn } from './stored-runs.ts'
import type { Reads } from '../../../core/store/ports/reads.ts'
import { ranked, summed, withoutKind } from './in-memory.ts'
import {
  broken,
  day,
  type ProjectQuery,
  type StoredTrendRow,
  type TrendFilter,
  type TrendOrder,
} from '../counting/figures.ts'
import type { TrendQuery } from '../counting/figures.ts'
import type { Bins } from '../../../lib/log-bins.ts'
import type { TrendFigures, TrendTotal, TrendViews } from '../counting/figures.ts'

/**
 * Trends are grouped by expressions. If they were grouped by bare columns, SQLite would use the primary key, which has the same order, and read all
 * hours and days instead of using the index on time.
 */
const project = 'project_id + 0'
const job = `job || ''`

const orders: Readonly<Record<TrendOrder, string>> = {
  slowest: 'HAVING sum(runs) > 1 ORDER BY sum(total_ms) * 1.0 / sum(runs) DESC',
  total: 'ORDER BY sum(total_ms) DESC',
  failing: 'HAVING sum(failed) > 0 ORDER BY sum(failed) DESC, sum(runs)',
  flakiest: 'HAVING sum(flaky) > 0 ORDER BY sum(flaky) DESC, sum(runs)',
  runs: 'ORDER BY sum(runs) DESC',
  broken: `HAVING sum(failed) >= ${broken.failures} AND sum(failed) >= ${broken.share} * sum(runs) ORDER BY sum(total_ms) DESC`,
}

/** The maximum number of subjects that one statement reads. */
const maxSubjects = 200

/** Reads trends, limited to the projects that the user may see. */
export function trendsIn({ on }: Pick<Reads, 'on'>): TrendViews {
  return on(trendsOn)
}

export function trendsOn(reading: Reading): TrendViews {
  const { ask, damaged, scope } = reading
  const rowsAt = async (sql: ScopedSql, values: readonly Value[]): Promise<StoredTrendRow[]> =>
    damaged.rows('trends', await ask(sql, values), rowOf)

  return {
    series: async ({ instance, projectId = 0, job: name = '' }, query) => {
      const values: Value[] = [query.step, projectId, name, query.since, query.until]
      // Rows for all pipelines together have neither pipeline names nor projects, so the projects' rows are added up instead.
      const isOfAll =
        projectId === 0 && (query.pipelineName !== undefined || query.group !== undefined || scope.bounds !== 'none')
      const which = isOfAll ? '?2 = 0 AND project_id > 0' : 'project_id = ?2'
      const one = instance === undefined ? '' : `AND instance = ?${values.push(instance)}`
      const rows = await rowsAt(
        `SELECT * FROM trends
         WHERE step = ?1 AND ${which} AND job = ?3 AND bucket >= ?4 AND bucket < ?5 AND {visible} ${one} ${filter(query, values)}
         ORDER BY bucket`,
        values,
      )
      const buckets = summed(
        isOfAll ? rows.map(row => ({ ...row, projectId: 0, project: '', instance: '' })) : rows,
        row => `${row.bucket} ${row.instance}`,
      )
      return buckets.map(withoutKind)
    },
    projects: async (by, query, limit) => {
      const values: Value[] = [...timesOf(query), limit]
      const totals = await ask(
        `SELECT ${project} AS project_id, '' AS job FROM trends
         WHERE step = ?1 AND job = '' AND bucket >= ?2 AND bucket < ?3 AND project_id > 0 AND {visible} ${filter(query, values)}
         GROUP BY ${project} ${orders[by]}, ${project} LIMIT ?4`,
        values,
      )
      return details(totals, query, by, limit)
    },
    jobs: async (by, query, limit) => {
      const values: Value[] = [...timesOf(query), limit]
      const of = projectIn(query, values)
      const totals = await ask(
        `SELECT ${project} AS project_id, ${job} AS job FROM trends
         WHERE step = ?1 AND bucket >= ?2 AND bucket < ?3 AND ${of} AND job <> '' AND {visible} ${filter(query, values)}
         GROUP BY ${project}, ${job} ${orders[by]}, ${project}, ${job} LIMIT ?4`,
        values,
      )
      return details(totals, query, by, limit)
    },
    ofJobs: async ({ instance, projectId }, jobs, query) => {
      const subjects = jobs.map(name => ({ projectId, job: name }))
      const rows = (await rowsOf(subjects, query)).filter(row => row.instance === instance)
      return summed(rows, row => `${row.branch} ${row.pipelineName}\n${row.job}`).map(({ bucket: _, ...row }) => row)
    },
    extent: async ({ instance, projectId = 0, job: name = '' }) => {
      // Rows for all pipelines together belong to no project, so a user who is limited to some projects gets the rows of these projects instead.
      const isOfAll = projectId === 0 && scope.bounds !== 'none'
      const values: Value[] = [day, projectId, name]
      const one = instance === undefined ? '' : `AND instance = ?${values.push(instance)}`
      const of = isOfAll ? '?2 = 0 AND project_id > 0' : 'project_id = ?2'
      const end = async (order: string): Promise<Row | undefined> => {
        const [row] = await ask(
          `SELECT bucket, project, instance FROM trends WHERE step = ?1 AND ${of} AND job = ?3 AND bucket > 0 AND {visible} ${one}
           ORDER BY ${order} LIMIT 1`,
          values,
        )
        return row
      }
      const [first, last] = await Promise.all([end('bucket'), end('bucket DESC')])
      if (first === undefined || last === undefined) return undefined
      const [path, its] = isOfAll ? ['', ''] : [text('project')(last), text('instance')(last)]
      return { project: path, instance: its, first: bucketOf(first), last: bucketOf(last) }
    },
    projectBranches: async (query, limit) => {
      const values: Value[] = [...timesOf(query), limit]
      const rows = await ask(
        `SELECT max(project) AS project, branch || '' AS branch, CAST(sum(runs) AS bigint) AS runs,
                CAST(sum(failed) AS bigint) AS failed, CAST(sum(total_ms) AS bigint) AS total_ms
         FROM trends WHERE step = ?1 AND job = '' AND bucket >= ?2 AND bucket < ?3 AND project_id > 0 AND {visible} ${filter(query, values)}
         GROUP BY ${project}, instance || '', branch || '' ORDER BY sum(runs) DESC, ${project}, branch || '' LIMIT ?4`,
        values,
      )
      return rows.map(placeOf)
    },
    names: async (query, limit) => {
      const values: Value[] = [...timesOf(query), limit]
      const of = projectIn(query, values)
      const rows = await ask(
        `SELECT DISTINCT pipeline_name AS name, project FROM trends
         WHERE step = ?1 AND job = '' AND bucket >= ?2 AND bucket < ?3 AND ${of} AND pipeline_name <> '' AND {visible} ${filter({ group: query.group }, values)}
         ORDER BY name, project LIMIT ?4`,
        values,
      )
      return rows.map(record({ name: text('name'), project: text('project') }))
    },
    retained: retainedOn(reading),
  }

  /**
   * Adds up the rows of the chosen subjects, and ranks the sums. The subjects are chosen by project ids, without their instances, because the index
   * on time lacks these.
   */
  async function details(
    subjects: readonly Row[],
    query: ProjectQuery,
    by: TrendOrder,
    limit: number,
  ): Promise<TrendTotal[]> {
    const wanted = subjects.map(row => ({ projectId: projectOf(row), job: jobOf(row) }))
    const { instance } = query
    const found = await rowsOf(wanted, query)
    return ranked(instance === undefined ? found : found.filter(row => row.instance === instance), by, limit)
  }

  /** Reads the rows of many subjects in one statement, because each statement is a round trip to PostgreSQL. */
  async function rowsOf(subjects: readonly Subject[], query: TrendQuery): Promise<StoredTrendRow[]> {
    const rows: StoredTrendRow[] = []
    for (let first = 0; first < subjects.length; first += maxSubjects) {
      const values: Value[] = [...timesOf(query)]
      const place = (value: Value): string => `?${values.push(value)}`
      const some = subjects.slice(first, first + maxSubjects)
      const list = some.map(({ projectId, job }) => `(CAST(${place(projectId)} AS bigint), ${place(job)})`)
      // The cross join makes SQLite loop over the list of subjects rather than over all rows of the period.
      const found = await rowsAt(
        `WITH subjects (its_project, its_job) AS (VALUES ${list.join(', ')})
         SELECT trends.* FROM subjects CROSS JOIN trends
         WHERE step = ?1 AND project_id = its_project AND job = its_job AND bucket >= ?2 AND bucket < ?3 AND {visible trends}
           ${filter(query, values)} ORDER BY bucket`,
        values,
      )
      rows.push(...found)
    }
    return rows
  }
}

interface Subject {
  readonly projectId: number
  /** The job's name; empty for the project's pipelines. */
  readonly job: string
}

/** Returns additional SQL conditions and appends their values to `values`. */
function filter(
  { branch, source, pipelineName, group }: TrendFilter & Pick<TrendQuery, 'group'>,
  values: Value[],
): string {
  const given = { branch, source, pipeline_name: pipelineName }
  const place = (value: Value): string => `?${values.push(value)}`
  return [
    ...Object.entries(given).flatMap(([column, value]) =>
      value === undefined ? [] : [`AND ${column} = ${place(value)}`],
    ),
    ...(group === undefined ? [] : [`AND ${inScope('project', group, place)}`]),
  ].join(' ')
}

/** Returns the SQL condition for one project or for all projects, and appends its values to `values`. */
function projectIn({ instance, projectId }: ProjectQuery, values: Value[]): string {
  const of = projectId === undefined ? 'project_id > 0' : `project_id = ?${values.push(projectId)}`
  return instance === undefined ? of : `${of} AND instance = ?${values.push(instance)}`
}

function timesOf({ step, since, until }: TrendQuery): [number, number, number] {
  return [step, since, until]
}

const projectOf = number('project_id')
const jobOf = text('job')
const bucketOf = number('bucket')

const placeOf = record({
  project: text('project'),
  branch: oneOf('branch', branchClasses),
  runs: number('runs'),
  failed: number('failed'),
  totalMs: number('total_ms'),
})

const figures = {
  runs: number('runs'),
  failed: number('failed'),
  flaky: number('flaky'),
  totalMs: number('total_ms'),
  durations: json<Bins>('durations'),
  queues: json<Bins>('queues'),
}
export const figuresOf: (row: Row) => TrendFigures = record(figures)
const rowOf: (row: Row) => StoredTrendRow = record({
  instance: text('instance'),
  projectId: projectOf,
  project: text('project'),
  job: jobOf,
  bucket: bucketOf,
  branch: oneOf('branch', branchClasses),
  source: text('source'),
  pipelineName: text('pipeline_name'),
  ...figures,
})
