// The SQL of costs: how rows are added to what is stored, and how sums are read.
import { wastedPurposes, type CostGroup, type CostLine, type CostReads, type CostRow, type CostSum } from './rows.ts'
import { inScope } from '../../../core/store/ports/project-scope.ts'
import { number, optional, text, type Row } from '../../../core/store/sql/columns.ts'
import { forRows, type StepValue } from '../../../core/store/sql/steps.ts'
import { retainedCostsOn } from './of-stored-runs.ts'
import type { Reads } from '../../../core/store/ports/reads.ts'
import type { Reading } from '../../../core/store/sql/reading.ts'
import type { Value } from '../../../core/store/sql/statements.ts'

const key = 'bucket, project_id, job, instance, branch, worker'
/** The columns that are added up. */
const sums = ['runs', 'total_ms', 'cost', ...wastedPurposes.flatMap(purpose => [`${purpose}_ms`, `${purpose}_cost`])]

/** Columns of the schema that stay 0. */
const unused = ['flaky_ms', 'flaky_cost']

/** Adds rows (`costValues`) to those with their keys. */
export const addCosts = forRows(
  [
    ...(['bigint', 'bigint', 'text', 'text', 'text', 'text', 'text'] as const),
    ...(['bigint', 'bigint', 'double precision'] as const),
    ...wastedPurposes.flatMap(() => ['bigint', 'double precision'] as const),
    ...(['bigint', 'double precision'] as const),
  ],
  ({ rows }) => `
  INSERT INTO costs (${key}, project, ${[...sums, ...unused].join(', ')}) ${rows}
  ON CONFLICT (${key}) DO UPDATE SET
    project = excluded.project, ${sums.map(name => `${name} = costs.${name} + excluded.${name}`).join(', ')}`,
)

export function costValues(row: CostRow): StepValue[] {
  const { bucket, projectId, job, instance, branch, worker, project, runs, totalMs, cost, wasted } = row
  const ofWasted = wastedPurposes.flatMap(purpose => [wasted[purpose].totalMs, wasted[purpose].cost])
  return [
    bucket,
    projectId,
    job,
    instance,
    branch,
    worker,
    project,
    runs,
    totalMs,
    cost,
    ...ofWasted,
    ...unused.map(() => 0),
  ]
}

/**
 * Grouped by expressions, as with trends: with the bare columns SQLite would scan the key that has their order instead of using the index that leads
 * to the requested time.
 */
const groups: Readonly<Record<CostGroup, readonly string[]>> = {
  total: [],
  project: ['project_id + 0 AS project_id'],
  place: ['project_id + 0 AS project_id', `branch || '' AS name`],
  job: ['project_id + 0 AS project_id', `job || '' AS name`],
  branch: [`branch || '' AS name`],
  worker: [`worker || '' AS name`],
  day: ['bucket + 0 AS bucket'],
}

const wastedSums = wastedPurposes
  .map(purpose => `CAST(sum(${purpose}_ms) AS bigint) AS ${purpose}_ms, sum(${purpose}_cost) AS ${purpose}_cost`)
  .join(', ')

/** What somebody may see. */
export function costsIn({ on }: Pick<Reads, 'on'>): CostReads {
  return on(costsOn)
}

export function costsOn(reading: Reading): CostReads {
  const { ask } = reading
  return {
    retained: retainedCostsOn(reading),
    lines: async (by, query, limit) => {
      const { since, until, projectId, group } = query
      const values: Value[] = [since, until, limit]
      const place = (value: Value): string => `?${values.push(value)}`
      const scope = [
        ...(projectId === undefined ? [] : [`AND project_id = ${place(projectId)}`]),
        ...(group === undefined ? [] : [`AND ${inScope('project', group, place)}`]),
      ].join(' ')
      const own = groups[by]
      const isOfOne = projectId !== undefined || by === 'project' || by === 'place' || by === 'job'
      const grouping = own.length === 0 ? '' : `GROUP BY ${own.map(one => one.replace(/ AS .*$/, '')).join(', ')}`
      const rows = await ask(
        `SELECT ${[...own, ''].join(', ')} ${isOfOne ? 'max(project)' : `''`} AS project,
                CAST(sum(runs) AS bigint) AS runs, CAST(sum(total_ms) AS bigint) AS total_ms, sum(cost) AS cost, ${wastedSums}
         FROM costs WHERE job ${by === 'job' ? '<>' : '='} '' AND bucket >= ?1 AND bucket < ?2 AND {visible} ${scope}
         ${grouping} HAVING count(*) > 0
         ORDER BY ${by === 'day' ? 'bucket + 0' : 'sum(cost) DESC, sum(total_ms) DESC'} LIMIT ?3`,
        values,
      )
      return rows.map(lineOf)
    },
  }
}

const runsOf = number('runs')
const msOf = number('total_ms')
const costOf = number('cost')
const projectOf = text('project')

function lineOf(row: Row): CostLine {
  const known = (name: string): number | undefined =>
    Object.hasOwn(row, name) ? optional(number, name)(row) : undefined
  return {
    ...{ projectId: known('project_id'), project: projectOf(row), bucket: known('bucket') },
    name: Object.hasOwn(row, 'name') ? text('name')(row) : '',
    ...{ runs: runsOf(row), totalMs: msOf(row), cost: costOf(row) },
    wasted: {
      retried: sumOf(row, 'retried'),
      superseded: sumOf(row, 'superseded'),
      failed: sumOf(row, 'failed'),
    },
  }
}

function sumOf(row: Row, purpose: string): CostSum {
  return { totalMs: number(`${purpose}_ms`)(row), cost: number(`${purpose}_cost`)(row) }
}
