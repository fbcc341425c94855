// Computes trends from rows in memory, summing and ranking them as the SQL does with stored rows. The functions in this file are pure.
import { isBroken } from '../counting/figures.ts'
import { sumOf } from '../counting/sums.ts'
import type { StoredTrendRow, TrendOrder, TrendReads, TrendRow, TrendTotal } from '../counting/figures.ts'

/**
 * Computes trends from `rows`, which are already filtered. If `areOfJobs` is true, there are no pipeline rows, so a series without a job covers all
 * jobs.
 */
export function trendsOfRows(rows: readonly StoredTrendRow[], areOfJobs: boolean): TrendReads {
  const within = ({ since, until }: { since: number; until: number }): StoredTrendRow[] =>
    rows.filter(({ bucket }) => bucket >= since && bucket < until)

  return {
    series: async ({ projectId, job }, query) => {
      const wanted = within(query).filter(row => {
        if (areOfJobs && job === undefined) return projectId === undefined || row.projectId === projectId
        return row.projectId === (projectId ?? 0) && row.job === (job ?? '')
      })
      const one = wanted.map(row => (projectId === undefined ? { ...row, project: '', instance: '' } : row))
      return summed(one, row => `${row.bucket} ${row.instance}`)
        .map(withoutKind)
        .sort((a, b) => a.bucket - b.bucket)
    },
    projects: async (by, query, limit) =>
      ranked(
        areOfJobs
          ? within(query).map(row => ({ ...row, job: '' }))
          : within(query).filter(row => row.job === '' && row.projectId > 0),
        by,
        limit,
      ),
    jobs: async (by, query, limit) =>
      ranked(
        within(query).filter(
          row => row.job !== '' && (query.projectId === undefined || row.projectId === query.projectId),
        ),
        by,
        limit,
      ),
    ofJobs: async ({ instance, projectId }, jobs, query) => {
      const names = new Set(jobs)
      const wanted = within(query).filter(
        row => row.instance === instance && row.projectId === projectId && names.has(row.job),
      )
      return summed(wanted, row => `${row.branch} ${row.pipelineName}\n${row.job}`).map(withoutBucket)
    },
  }
}

/** Adds up the rows of each project or job, and ranks the sums. Projects of several instances may have the same id. */
export function ranked(rows: readonly StoredTrendRow[], by: TrendOrder, limit: number): TrendTotal[] {
  return summed(rows, row => `${row.projectId} ${row.instance} ${row.job}`)
    .filter(row => least[by](row))
    .sort((a, b) => order[by](a, b) || a.projectId - b.projectId || (a.job < b.job ? -1 : 1))
    .slice(0, limit)
    .map(row => withoutBucket(withoutKind(row)))
}

const least: Readonly<Record<TrendOrder, (row: TrendRow) => boolean>> = {
  slowest: row => row.runs > 1,
  total: () => true,
  failing: row => row.failed > 0,
  flakiest: row => row.flaky > 0,
  runs: () => true,
  broken: isBroken,
}

const order: Readonly<Record<TrendOrder, (a: TrendRow, b: TrendRow) => number>> = {
  slowest: (a, b) => b.totalMs / b.runs - a.totalMs / a.runs,
  total: (a, b) => b.totalMs - a.totalMs,
  failing: (a, b) => b.failed - a.failed || a.runs - b.runs,
  flakiest: (a, b) => b.flaky - a.flaky || a.runs - b.runs,
  runs: (a, b) => b.runs - a.runs,
  broken: (a, b) => b.totalMs - a.totalMs,
}

/** Returns one row per name: the sums, with all other fields taken from the last row. */
export function summed(rows: readonly StoredTrendRow[], name: (row: StoredTrendRow) => string): StoredTrendRow[] {
  return [...Map.groupBy(rows, name).values()].flatMap(some => sumOf(some) ?? [])
}

export function withoutKind({ branch: _, source: __, pipelineName: ___, ...row }: StoredTrendRow): TrendRow {
  return row
}

function withoutBucket<T extends TrendRow>({ bucket: _, ...total }: T): Omit<T, 'bucket'> {
  return total
}
