// The SQL of figures over time; how a transaction is made is each database's own matter.
import { day, hour, hoursStoredFor, type TrendQuery, type TrendRow, type TrendStep } from '../ports/trends.ts'
import { plus, type Addition } from './trend-sums.ts'
import { json, number, record, text, type Row } from '../sql/columns.ts'
import type { Ask } from './views-sql.ts'
import type { Value } from '../sql/statements.ts'
import { storedChunk, type DamagedRows } from '../sql/stored-json.ts'
import type { Bins } from '../../lib/log-bins.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { TrendFigures, TrendTotal, TrendViews } from '../ports/trends.ts'

export const trendSteps: readonly TrendStep[] = [hour, day]

/**
 * Rows of hours in memory before they are written, but for those of one chunk; as many again of days are written with them: some ten
 * milliseconds. A row takes some kilobytes, and each job of a pipeline of 40,000 may be another row.
 */
export const rowsInMemory = 1_000

/** What is read and written to bring the figures up to date, in order; each database runs it in one transaction. */
export const takeInSql = {
  /** Locks out other replicas where there are any. */
  reached: `INSERT INTO trends_reached VALUES (1, 0)
            ON CONFLICT (id) DO UPDATE SET chunk_id = trends_reached.chunk_id RETURNING chunk_id`,
  /** Chunks after the last, without the content of events and of those inside of jobs, up to the one before which no other can still appear. */
  chunks: `SELECT id, run_id, CASE WHEN run_id IS NOT NULL AND inside IS NULL THEN content END AS content
           FROM chunks WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3`,
  /** The same where they may still be in memory. */
  ids: 'SELECT id, run_id, inside FROM chunks WHERE id > ?1 ORDER BY id LIMIT ?2',
  earlier: 'SELECT id, content FROM chunks WHERE run_id = ?1 AND id < ?2 AND inside IS NULL',
  row: `SELECT runs, failed, flaky, total_ms, durations, queues FROM trends
        WHERE step = ?1 AND project_id = ?2 AND job = ?3 AND bucket = ?4 AND instance = ?5`,
  write: writing('VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)'),
  move: 'UPDATE trends_reached SET chunk_id = ?1 WHERE id = 1',
  /** Where numbers are given again that were given before: after the newest were pruned, or in a copy of a store. */
  moveBack: `UPDATE trends_reached SET chunk_id = (SELECT coalesce(max(id), 0) FROM chunks)
             WHERE chunk_id > (SELECT coalesce(max(id), 0) FROM chunks)`,
  prune: 'DELETE FROM trends WHERE step = ?1 AND bucket < ?2',
} as const

/** Writes rows (`rowValues`) in the place of those with their keys. */
export function writing(rows: string): string {
  return `INSERT INTO trends (step, project_id, job, bucket, instance, project, runs, failed, flaky, total_ms, durations, queues)
          ${rows}
          ON CONFLICT (step, project_id, job, bucket, instance) DO UPDATE SET
            project = excluded.project, runs = excluded.runs, failed = excluded.failed, flaky = excluded.flaky,
            total_ms = excluded.total_ms, durations = excluded.durations, queues = excluded.queues`
}

/** A chunk of which figures are taken; undefined where it is damaged. */
export function countedChunk(damaged: DamagedRows, id: number, content: unknown): Chunk | undefined {
  return damaged.orNothing({ chunk: id }, 'it is not among the figures over time', () => storedChunk(content))
}

export function rowKey({ step, row: { projectId, job, bucket, instance } }: Addition): Value[] {
  return [step, projectId, job, bucket, instance]
}

/** The values of `takeInSql.write`. */
export function rowValues(addition: Addition, before: Row | undefined, damaged: DamagedRows): Value[] {
  const { row, step: trend } = addition
  const { projectId, job, bucket } = row
  const known =
    before && damaged.orNothing({ trend, projectId, job, bucket }, 'its figures begin anew', () => figuresOf(before))
  const sum = known === undefined ? row : plus(known, row)
  return [
    ...rowKey(addition),
    row.project,
    sum.runs,
    sum.failed,
    sum.flaky,
    sum.totalMs,
    JSON.stringify(sum.durations),
    JSON.stringify(sum.queues),
  ]
}

/**
 * Grouped by expressions: by the bare columns SQLite would walk a key that is in their order, through all hours and days,
 * in place of the index that leads to the time asked for.
 */
const project = 'project_id + 0'
const job = `job || ''`

export function trendsOn(ask: Ask, damaged: DamagedRows): Omit<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  return {
    series: async ({ instance, projectId = 0, job: name = '' }, query) => {
      const one = instance === undefined ? '' : 'AND instance = ?6'
      const rows = await ask(
        `SELECT * FROM trends
         WHERE step = ?1 AND project_id = ?2 AND job = ?3 AND bucket >= ?4 AND bucket < ?5 ${one} ORDER BY bucket`,
        [query.step, projectId, name, query.since, query.until, ...(instance === undefined ? [] : [instance])],
      )
      return rowsOf(rows, damaged)
    },
    projects: async (query, limit) => {
      const totals = await ask(
        `SELECT ${project} AS project_id, '' AS job FROM trends
         WHERE step = ?1 AND job = '' AND bucket >= ?2 AND bucket < ?3 AND project_id > 0
         GROUP BY ${project} ORDER BY sum(runs) DESC, ${project} LIMIT ?4`,
        [...timesOf(query), limit],
      )
      return details(ask, damaged, totals, query)
    },
    jobs: async (by, query, limit) => {
      const values: Value[] = [...timesOf(query), limit]
      const scope = query.projectId === undefined ? 'project_id > 0' : `project_id = ?${values.push(query.projectId)}`
      // A single run is no trend.
      const order =
        by === 'slowest'
          ? 'HAVING sum(runs) > 1 ORDER BY sum(total_ms) * 1.0 / sum(runs) DESC'
          : 'HAVING sum(flaky) > 0 ORDER BY sum(flaky) DESC, sum(runs)'
      const totals = await ask(
        `SELECT ${project} AS project_id, ${job} AS job FROM trends
         WHERE step = ?1 AND bucket >= ?2 AND bucket < ?3 AND ${scope} AND job <> ''
         GROUP BY ${project}, ${job} ${order} LIMIT ?4`,
        values,
      )
      return details(ask, damaged, totals, query)
    },
  }
}

/** Adds up the rows of each subject, in the order given. */
async function details(
  ask: Ask,
  damaged: DamagedRows,
  subjects: readonly Row[],
  query: TrendQuery,
): Promise<TrendTotal[]> {
  const sums = await Promise.all(
    subjects.map(async subject => {
      const rows = await ask(
        `SELECT * FROM trends
         WHERE step = ?1 AND project_id = ?4 AND job = ?5 AND bucket >= ?2 AND bucket < ?3 ORDER BY bucket`,
        [...timesOf(query), projectOf(subject), jobOf(subject)],
      )
      return rowsOf(rows, damaged).reduce<TrendTotal | undefined>(
        (sum, row) => ({ ...row, ...(sum && plus(sum, row)) }),
        undefined,
      )
    }),
  )
  return sums.filter(sum => sum !== undefined)
}

function timesOf({ step, since, until }: TrendQuery): [number, number, number] {
  return [step, since, until]
}

function rowsOf(rows: readonly Row[], damaged: DamagedRows): TrendRow[] {
  return rows.flatMap(row => {
    const names = { trend: row.step, projectId: row.project_id, job: row.job, bucket: row.bucket }
    return damaged.orNothing(names, 'it is left out', () => rowOf(row)) ?? []
  })
}

const projectOf = number('project_id')
const jobOf = text('job')

const figures = {
  runs: number('runs'),
  failed: number('failed'),
  flaky: number('flaky'),
  totalMs: number('total_ms'),
  durations: json<Bins>('durations'),
  queues: json<Bins>('queues'),
}
const figuresOf: (row: Row) => TrendFigures = record(figures)
const rowOf: (row: Row) => TrendRow = record({
  instance: text('instance'),
  projectId: projectOf,
  project: text('project'),
  job: jobOf,
  bucket: number('bucket'),
  ...figures,
})

/** Before when a step's rows are forgotten. `keep`: how long those of days are stored, ms. */
export function forgottenBefore(step: TrendStep, now: number, keep: number): number {
  return now - (step === hour ? Math.min(hoursStoredFor, keep) : keep)
}
