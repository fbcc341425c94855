// The statistics shown as trends, and the rows of the trends tables. Each row is a job or a project, compared with its previous period; the rows are
// sorted by a column.
import { z } from 'zod'
import { ms, type Shaped } from '../../../console/layout/shape.ts'
import type { Grouped } from '../../../console/layout/groups.ts'
import { roundPercentileOf, plusBins } from '../../../lib/log-bins.ts'
import { trendOrders } from '../counting/figures.ts'
import type {
  TrendOrder,
  TrendQuery,
  TrendReads,
  TrendTotal,
  TrendFigures,
  ProjectBranchTotals,
} from '../counting/figures.ts'

export const figuresShape = z.object({
  runs: z.number(),
  failed: z.number(),
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
})
/** The statistics in a table row. A duration is undefined if no run was counted. */
export type Figures = Shaped<typeof figuresShape>

export const lineShape = z.object({
  instance: z.string().describe('Base URL of the platform.'),
  projectId: z.number(),
  project: z.string(),
  job: z.string(),
  runs: z.number(),
  failed: z.number(),
  flaky: z.number(),
  totalMs: ms,
  meanMs: ms,
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
  queueP95: ms.optional(),
  before: figuresShape.optional().describe('The previous period of the same length.'),
})
export type TrendLine = Shaped<typeof lineShape>

export const groupLineShape = z.object({
  name: z.string(),
  runs: z.number(),
  failed: z.number(),
  totalMs: ms,
  meanMs: ms,
})
export type GroupLine = Shaped<typeof groupLineShape>

/** The sort orders of table rows: those that the store supports, and those by which this file sorts up to `maxSorted` rows. */
export const lineSorts = [...trendOrders, 'p50', 'p95', 'queue', 'rate'] as const
export type LineSort = (typeof lineSorts)[number]

/** Parses a sort order; returns undefined for any other text. */
export function lineSortOf(text: string | null): LineSort | undefined {
  return lineSorts.find(one => one === text)
}

/** The maximum number of rows in each table on the trends page. */
export const maxLines = { projects: 30, jobs: 20 } as const
/**
 * The maximum number of rows that are sorted by a percentile. Percentiles are not stored, so the rows to sort are chosen first: the slowest jobs by
 * mean, or the projects with the most runs.
 */
export const maxSorted = 200

export async function rankedProjects(
  figures: TrendReads,
  sort: LineSort,
  query: TrendQuery,
): Promise<readonly TrendLine[]> {
  const by = orderOf(sort) ?? 'runs'
  const limit = by === sort ? maxLines.projects : maxSorted
  const lines = (await figures.projects(by, query, limit)).map(total => lineOf(total))
  return by === sort ? lines : sortedBy(lines, sort).slice(0, maxLines.projects)
}

interface Scope {
  readonly query: TrendQuery
  /** The query for the previous period; undefined if there is no comparison. */
  readonly earlier: TrendQuery | undefined
  readonly instance: string | undefined
  readonly projectId: number | undefined
}

export async function rankedJobs(
  figures: TrendReads,
  sort: LineSort,
  { query, earlier, instance, projectId }: Scope,
): Promise<readonly TrendLine[]> {
  const by = orderOf(sort) ?? 'slowest'
  const totals = await figures.jobs(by, { ...query, instance, projectId }, by === sort ? maxLines.jobs : maxSorted)
  const lines = totals.map(total => lineOf(total))
  const shown = (by === sort ? lines : sortedBy(lines, sort)).slice(0, maxLines.jobs)
  if (earlier === undefined) return shown
  const before = new Map<string, Figures>()
  for (const some of Map.groupBy(shown, one => `${one.projectId} ${one.instance}`).values()) {
    const [{ instance: its, projectId: of } = { instance: '', projectId: 0 }] = some
    const found = await figures.ofJobs(
      { instance: its, projectId: of },
      some.map(one => one.job),
      earlier,
    )
    for (const [job, rows] of Map.groupBy(found, row => row.job)) before.set(`${of} ${its} ${job}`, figuresOf(rows))
  }
  return shown.map(line => {
    const its = before.get(`${line.projectId} ${line.instance} ${line.job}`)
    return its === undefined ? line : { ...line, before: its }
  })
}

function orderOf(sort: LineSort): TrendOrder | undefined {
  return trendOrders.find(one => one === sort)
}

function sortedBy<Line extends TrendLine>(lines: readonly Line[], sort: LineSort): Line[] {
  const value = (line: TrendLine): number => {
    if (sort === 'rate') return line.failed / line.runs
    return (sort === 'queue' ? line.queueP50 : sort === 'p95' ? line.p95 : line.p50) ?? -1
  }
  return lines.toSorted((a, b) => value(b) - value(a))
}

function lineOf({
  instance,
  projectId,
  project,
  job,
  runs,
  failed,
  flaky,
  totalMs,
  durations,
  queues,
}: TrendTotal): TrendLine {
  return {
    ...{ instance, projectId, project, job, runs, failed, flaky, totalMs },
    meanMs: runs === 0 ? 0 : totalMs / runs,
    p50: roundPercentileOf(durations, 0.5),
    p95: roundPercentileOf(durations, 0.95),
    queueP50: roundPercentileOf(queues, 0.5),
    queueP95: roundPercentileOf(queues, 0.95),
  }
}

/** Adds up several trend rows: sums the counts and computes percentiles from the merged bins. */
export function figuresOf(rows: readonly TrendFigures[]): Figures {
  const sum = (of: (row: TrendFigures) => number): number => rows.reduce((total, row) => total + of(row), 0)
  const durations = rows.map(row => row.durations).reduce(plusBins, {})
  const queues = rows.map(row => row.queues).reduce(plusBins, {})
  return {
    runs: sum(row => row.runs),
    failed: sum(row => row.failed),
    p50: roundPercentileOf(durations, 0.5),
    p95: roundPercentileOf(durations, 0.95),
    queueP50: roundPercentileOf(queues, 0.5),
  }
}

/** Returns the sums per group, those with the most pipelines first. */
export function groupLines(all: readonly Grouped<ProjectBranchTotals>[]): GroupLine[] {
  const lines = all.map(({ name, items: some }) => {
    const sum = (of: (branch: ProjectBranchTotals) => number): number => some.reduce((total, one) => total + of(one), 0)
    const [runs, totalMs] = [sum(one => one.runs), sum(one => one.totalMs)]
    return { name, runs, failed: sum(one => one.failed), totalMs, meanMs: runs === 0 ? 0 : totalMs / runs }
  })
  return lines.sort((a, b) => b.runs - a.runs || (a.name < b.name ? -1 : 1))
}
