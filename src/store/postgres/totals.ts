// Adds to the running totals on PostgreSQL: each step is one statement for all projects.
import { addToCounter } from '../sql/leases.ts'
import { batchesOf, countNameOf, namesOf, sumsOf } from '../sql/adding-up.ts'
import { columnsOf, unnest } from './arrays.ts'
import {
  foldedBy,
  insertTotals,
  insertTotalsProjects,
  knownSeries,
  projectValues,
  seriesValues,
} from '../sql/totals.ts'
import { idOf } from './run-rows.ts'
import { number, record, text } from '../sql/columns.ts'
import { overflowAttributes, type ProjectIncrements, type SeriesTotal } from '../../model/totals.ts'
import { placed } from './statements.ts'
import type { Session } from './database.ts'

const insertProjects = insertTotalsProjects(`SELECT * FROM ${unnest(['text', 'bigint', 'text', 'text'])}`)
const insertSeries = insertTotals(
  `SELECT * FROM ${unnest(['bigint', 'text', 'text', 'text', 'text', 'text', 'bigint'])}`,
)
const projectKey = record({ instance: text('instance'), projectId: number('project_id') })

/** Within the transaction that takes the snapshots. */
export async function moveTotals(
  session: Session,
  increments: readonly ProjectIncrements[],
  now: number,
): Promise<void> {
  const batches = batchesOf(increments)
  if (batches.length === 0) return
  // Locks the rows of the projects, and with them their series; all replicas do so in the same order.
  const projects = await session.query(insertProjects, columnsOf(batches.map(projectValues)))
  const nameOf = ({ instance, projectId }: ReturnType<typeof projectKey>): string =>
    JSON.stringify([instance, projectId])
  const ids = new Map(projects.map(row => [nameOf(projectKey(row)), idOf(row)]))
  const withId = batches.map(batch => ({ batch, id: ids.get(nameOf(batch.key)) ?? 0 }))
  const known = await seriesByProject(
    session,
    withId.map(({ id, batch }) => [id, namesOf(batch)]),
  )
  const counts = await countsByProject(
    session,
    withId.filter(({ id, batch }) => ![...batch.bySeries.keys()].every(name => known.get(id)?.has(name))),
  )
  const sums = withId.map(({ id, batch }) =>
    sumsOf(batch, known.get(id) ?? new Map(), counts.get(id) ?? new Map(), now),
  )
  const written = withId.flatMap(({ id }, at) => seriesValues(id, sums[at] ?? { series: new Map(), overflowed: 0 }))
  if (written.length > 0) await session.query(insertSeries, columnsOf(written))
  for (const counter of foldedBy(batches, sums)) await session.query(placed(addToCounter), counter)
}

const project = number('project')
const series = text('series')

async function seriesByProject(
  session: Session,
  wanted: readonly [project: number, names: readonly string[]][],
): Promise<Map<number, Map<string, SeriesTotal>>> {
  const pairs = wanted.flatMap(([id, names]) => names.map(name => [id, name]))
  if (pairs.length === 0) return new Map()
  const rows = await session.query(
    `SELECT t.* FROM totals t JOIN ${unnest(['bigint', 'text'])} AS w (project, series)
       ON t.project = w.project AND t.series = w.series`,
    columnsOf(pairs),
  )
  const found = new Map<number, Map<string, SeriesTotal>>(wanted.map(([id]) => [id, new Map()]))
  for (const row of rows) {
    const total = knownSeries(session.damaged, row)
    if (total !== undefined) found.get(project(row))?.set(series(row), total)
  }
  return found
}

const countOf = record({ project, metric: text('metric'), shape: text('shape'), series: number('series') })

async function countsByProject(
  session: Session,
  wanted: readonly { id: number }[],
): Promise<Map<number, Map<string, number>>> {
  const found = new Map<number, Map<string, number>>(wanted.map(({ id }) => [id, new Map()]))
  if (wanted.length === 0) return found
  const rows = await session.query(
    `SELECT project, metric, shape, count(*) AS series FROM totals
     WHERE project = ANY ($1::bigint[]) AND attributes <> $2 GROUP BY project, metric, shape`,
    [wanted.map(({ id }) => id), overflowAttributes],
  )
  for (const row of rows) {
    const one = countOf(row)
    found.get(one.project)?.set(countNameOf(one.metric, one.shape), one.series)
  }
  return found
}
