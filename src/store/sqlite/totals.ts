// Adds to the running totals on SQLite.
import { addToCounter } from '../sql/leases.ts'
import { batchesOf, countNameOf, namesOf, sumsOf, type Batch, type Sums } from '../sql/adding-up.ts'
import {
  foldedBy,
  insertTotals,
  insertTotalsProjects,
  knownSeries,
  projectValues,
  seriesValues,
} from '../sql/totals.ts'
import { number, text } from '../sql/columns.ts'
import { overflowAttributes, type ProjectIncrements, type SeriesTotal } from '../../model/totals.ts'
import type { Database } from './database.ts'

/** Within the transaction that takes the snapshots. */
export function moveTotals(db: Database, increments: readonly ProjectIncrements[], now: number): void {
  const batches = batchesOf(increments)
  const sums = batches.map(batch => moveProject(db, batch, now))
  for (const counter of foldedBy(batches, sums)) db.prepare(addToCounter).run(...counter)
}

const insertProject = insertTotalsProjects('VALUES (?, ?, ?, ?)')
const insertSeries = insertTotals('VALUES (?, ?, ?, ?, ?, ?, ?)')
const idOf = number('id')

function moveProject(db: Database, batch: Batch, now: number): Sums {
  const id = idOf(db.prepare(insertProject).get(...projectValues(batch)) ?? {})
  const select = db.prepare('SELECT * FROM totals WHERE project = ? AND series = ?')
  const known = new Map<string, SeriesTotal>()
  for (const name of namesOf(batch)) {
    const row = select.get(id, name)
    const total = row && knownSeries(db.damaged, row)
    if (total !== undefined) known.set(name, total)
  }
  const isKnown = [...batch.bySeries.keys()].every(name => known.has(name))
  const sums = sumsOf(batch, known, isKnown ? new Map() : countsOf(db, id), now)
  const write = db.prepare(insertSeries)
  for (const values of seriesValues(id, sums)) write.run(...values)
  return sums
}

const metric = text('metric')
const shape = text('shape')
const series = number('series')

function countsOf(db: Database, project: number): Map<string, number> {
  const rows = db
    .prepare(
      'SELECT metric, shape, count(*) AS series FROM totals WHERE project = ? AND attributes <> ? GROUP BY metric, shape',
    )
    .all(project, overflowAttributes)
  return new Map(rows.map(row => [countNameOf(metric(row), shape(row)), series(row)]))
}
