// Figures about costs, for the page and the JSON API: sums over a period by project, job, branch class, runner type and day; and by exact
// branch and runner, over the stored pipelines.
import { day, type TrendExtent } from '../../store/ports/trends.ts'
import { openingSpan, spans, type Span } from '../layout/trend-spans.ts'
import type { CostGroup, CostLine, CostQuery, RetainedCosts } from '../../store/ports/costs.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'

export interface AskedCosts {
  /** Undefined: the shortest that shows all data. Never `24h`, because costs are stored by day. */
  readonly span?: Span | undefined
  readonly projectId?: number | undefined
}

export interface Costs {
  readonly span: Span
  readonly since: Millis
  readonly until: Millis
  readonly project?: { readonly id: number; readonly name: string } | undefined
  /** The unit of prices; absent without a price table. */
  readonly unit?: string | undefined
  /** Undefined if nothing ran. */
  readonly total?: CostLine | undefined
  /** The previous period of the same length; undefined unless all of it is stored. */
  readonly before?: CostLine | undefined
  readonly projects: readonly CostLine[]
  readonly jobs: readonly CostLine[]
  readonly branches: readonly CostLine[]
  readonly workers: readonly CostLine[]
  readonly days: readonly CostLine[]
  /** By exact branch and runner. */
  readonly retained: RetainedCosts
}

/** Rows of each table. */
export const shownCosts = { projects: 50, jobs: 30, few: 20, days: 400, retained: 30 } as const

export async function costsView(
  { views, now }: Pick<PagesParts, 'views' | 'now'>,
  { costUnit, hasPrices }: Pick<PagesSettings, 'costUnit' | 'hasPrices'>,
  { span: asked, projectId }: AskedCosts,
): Promise<Costs> {
  const extent = await views.trends.extent(projectId === undefined ? {} : { projectId })
  const span = asked === undefined || asked === '24h' ? openingDays(extent, now()) : asked
  const until = now() - (now() % day) + day
  const since = until - spans[span].length
  const query: CostQuery = { since, until, projectId }
  const lines = async (by: CostGroup, limit: number): Promise<readonly CostLine[]> =>
    views.costs.lines(by, query, limit)
  const [[total], projects, jobs, branches, workers, days, [before], retained] = await Promise.all([
    lines('total', 1),
    projectId === undefined ? lines('project', shownCosts.projects) : [],
    lines('job', shownCosts.jobs),
    lines('branch', shownCosts.few),
    lines('worker', shownCosts.few),
    lines('day', shownCosts.days),
    views.costs.lines('total', { since: since - spans[span].length, until: since, projectId }, 1),
    views.costs.retained({ ...query, limit: shownCosts.retained }),
  ])
  const isWhole = extent !== undefined && extent.first <= since - spans[span].length
  return {
    ...{ span, since, until },
    ...(projectId !== undefined && total !== undefined && { project: { id: projectId, name: total.project } }),
    ...(hasPrices === true && { unit: costUnit }),
    ...(total !== undefined && { total }),
    ...(isWhole && before !== undefined && { before }),
    ...{ projects, jobs, branches, workers, days, retained },
  }
}

function openingDays(extent: TrendExtent | undefined, now: Millis): Span {
  const span = openingSpan(extent, now)
  return span === '24h' ? '7d' : span
}
