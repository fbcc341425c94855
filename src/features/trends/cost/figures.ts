// Computes costs for the costs page and the JSON API: sums over a period by project, job, branch class, runner type and day, and sums over the stored
// pipelines by exact branch and by runner.
import { costsIn } from './sql.ts'
import { day, type TrendExtent } from '../counting/figures.ts'
import { trendsIn } from '../reading/sql.ts'
import { openingSpan, spans, type Span } from '../../../console/layout/trend-spans.ts'
import { groupsOf, type Grouped } from '../../../console/layout/groups.ts'
import { wastedPurposes, type CostGroup, type CostQuery } from './rows.ts'
import type { CostLine, CostSum, Costs } from './shape.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts, PagesSettings } from '../../../console/ports.ts'

interface AskedCosts {
  /** The period to show. If undefined, it is the shortest one that covers all data. It is never `24h`, because costs are stored by day. */
  readonly span?: Span | undefined
  readonly projectId?: number | undefined
  /** The platform's base URL. If undefined and several instances have a project with this ID, the one with the newest figures is shown. */
  readonly instance?: string | undefined
  /** The group's path, with a trailing slash. */
  readonly group?: string | undefined
  /**
   * The value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) to filter by; `parts` already contain only the projects with this value. If
   * undefined, `parts` contain all projects.
   */
  readonly own?: string | undefined
  /** Whether stored pipelines are read for the costs by exact branch and runner. Reading them takes up to a second. */
  readonly isExact?: boolean
}

/** The maximum number of rows in each cost table. */
export const maxCostRows = { projects: 50, jobs: 30, few: 20, days: 400, retained: 30 } as const

/**
 * The maximum number of sums by project and branch class that are read in order to add them up by group and by grouping attribute
 * (PIPESPAN_PAGES_GROUP_BY).
 */
const maxProjectBranches = 20_000

export async function costsView(
  parts: Pick<PagesParts, 'on' | 'now'>,
  { costUnit, hasPrices, groupBy }: Pick<PagesSettings, 'costUnit' | 'hasPrices' | 'groupBy'>,
  { span: asked, instance: named, projectId, group, own, isExact = false }: AskedCosts,
): Promise<Costs> {
  const { now } = parts
  const costs = costsIn(parts)
  const asks = projectId !== undefined && named !== undefined
  const of = asks ? { instance: named } : {}
  const extent = await trendsIn(parts).extent(projectId === undefined ? {} : { projectId, ...of })
  const instance = projectId === undefined ? undefined : (named ?? extent?.instance)
  const span = asked === undefined || asked === '24h' ? openingDays(extent, now()) : asked
  const until = now() - (now() % day) + day
  const since = until - spans[span].length
  const query: CostQuery = { since, until, instance, projectId, group }
  const lines = async (by: CostGroup, limit: number): Promise<readonly CostLine[]> => costs.lines(by, query, limit)
  const [[total], projectBranches, projects, jobs, branches, workers, days, [before], retained] = await Promise.all([
    lines('total', 1),
    projectId === undefined ? lines('place', maxProjectBranches) : undefined,
    projectId === undefined ? lines('project', maxCostRows.projects) : [],
    lines('job', maxCostRows.jobs),
    lines('branch', maxCostRows.few),
    lines('worker', maxCostRows.few),
    lines('day', maxCostRows.days),
    costs.lines('total', { ...query, since: since - spans[span].length, until: since }, 1),
    isExact ? costs.retained({ ...query, limit: maxCostRows.retained }) : undefined,
  ])
  const isWhole = extent !== undefined && extent.first <= since - spans[span].length
  return {
    ...{ span, since, until, ...of, group, own },
    ...(projectId !== undefined && total !== undefined && { project: { id: projectId, name: total.project } }),
    ...(hasPrices === true && { unit: costUnit }),
    ...(total !== undefined && { total }),
    ...(isWhole && before !== undefined && { before }),
    ...groupsOf(
      projectBranches,
      { scope: group, groupBy, pathOf: one => one.project, branchOf: one => one.name },
      groupLines,
    ),
    ...{ projects, jobs, branches, workers, days },
    ...(retained !== undefined && { retained }),
  }
}

function openingDays(extent: TrendExtent | undefined, now: Millis): Span {
  const span = openingSpan(extent, now)
  return span === '24h' ? '7d' : span
}

/** Returns one cost row per group, the most expensive first. */
export function groupLines(all: readonly Grouped<CostLine>[]): CostLine[] {
  return all
    .map(({ name, items }) =>
      items
        .map(({ runs, totalMs, cost, wasted }): CostLine => ({ project: '', name, runs, totalMs, cost, wasted }))
        .reduce(added),
    )
    .sort((a, b) => b.cost - a.cost || b.totalMs - a.totalMs)
}

function added(a: CostLine, b: CostLine): CostLine {
  const wasted = wastedPurposes.map(purpose => [purpose, sumOf(a.wasted[purpose], b.wasted[purpose])] as const)
  return {
    ...a,
    ...sumOf(a, b),
    runs: a.runs + b.runs,
    wasted: Object.fromEntries(wasted) as unknown as CostLine['wasted'],
  }
}

function sumOf(a: CostSum, b: CostSum): CostSum {
  return { totalMs: a.totalMs + b.totalMs, cost: a.cost + b.cost }
}
