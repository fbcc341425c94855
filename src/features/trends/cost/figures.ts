// Figures about costs, for the page and the JSON API: sums over a period by project, job, branch class, runner type and day; and by exact
// branch and runner, over the stored pipelines.
import { z } from 'zod'
import { costsIn } from './sql.ts'
import { day, type TrendExtent } from '../counting/figures.ts'
import { trendsIn } from '../reading/sql.ts'
import { millis, ms, own as ownShape, span as spanShape, type Shaped } from '../../../console/layout/shape.ts'
import { openingSpan, spans, type Span } from '../../../console/layout/trend-spans.ts'
import { groupsOf, groupsShape, type Grouped } from '../../../console/layout/groups.ts'
import {
  wastedPurposes,
  type CostGroup,
  type CostLine,
  type CostQuery,
  type CostSum,
  type RetainedCosts,
} from './rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts, PagesSettings } from '../../../console/ports.ts'

interface AskedCosts {
  /** Undefined: the shortest that shows all data. Never `24h`, because costs are stored by day. */
  readonly span?: Span | undefined
  readonly projectId?: number | undefined
  /** A path that ends with a slash. */
  readonly group?: string | undefined
  /** A value of the operator's attribute, to which `parts` are limited; undefined: all projects. */
  readonly own?: string | undefined
}

const costSumShape = z.object({ totalMs: ms, cost: z.number().describe('In the currency unit of the price table.') })
const costTotalShape = costSumShape.extend({
  runs: z.number().describe('Jobs that ran.'),
  wasted: z
    .object({ retried: costSumShape, superseded: costSumShape, failed: costSumShape })
    .describe('The part that was wasted: retried, superseded or failed.'),
})
const costLineShape = costTotalShape.extend({
  projectId: z.number().optional(),
  project: z.string().describe('Full path; empty for a line that sums several projects.'),
  name: z
    .string()
    .describe('Job, branch class or runner type; in `retained` the branch or tag, or the runner’s description.'),
  bucket: millis.optional(),
}) satisfies z.ZodType<CostLine>
const runnerLineShape = costLineShape.extend({
  runnerId: z.number().optional().describe('Absent for jobs whose runner is unknown.'),
  worker: z.string().describe('Runner type; empty if unknown.'),
})
const retainedShape = z
  .object({
    branches: z.array(costLineShape).describe('By project and exact branch or tag, the most expensive.'),
    runners: z.array(runnerLineShape).describe('By exact runner, the most expensive.'),
    total: costTotalShape.describe('Everything that was counted, whether listed or not.'),
    pipelines: z.number().describe('How many stored pipelines were counted.'),
    storedSince: millis
      .optional()
      .describe(
        'When the oldest stored pipeline was created; jobs of pipelines that have been pruned are not counted.',
      ),
    backTo: millis
      .optional()
      .describe('Set if there were too many pipelines: only those created since then were counted.'),
  })
  .describe(
    'By exact branch and runner: counted over the stored pipelines, because daily sums have neither.',
  ) satisfies z.ZodType<RetainedCosts>

export const costsShape = z.object({
  span: spanShape,
  since: millis,
  until: millis,
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  group: z.string().optional().describe('The group whose projects are counted.'),
  own: ownShape,
  unit: z.string().optional().describe('Currency unit; absent without a price table.'),
  total: costLineShape.optional(),
  before: costLineShape
    .optional()
    .describe('The previous period of the same length; absent unless all of it is stored.'),
  ...groupsShape(costLineShape),
  projects: z.array(costLineShape),
  jobs: z.array(costLineShape),
  branches: z.array(costLineShape),
  workers: z.array(costLineShape),
  days: z.array(costLineShape),
  retained: retainedShape,
})
export type Costs = Shaped<typeof costsShape>

/** Rows of each table. */
export const shownCosts = { projects: 50, jobs: 30, few: 20, days: 400, retained: 30 } as const

/** Projects and classes of branches that are added up by the operator's attribute. */
const maxPlaces = 20_000

export async function costsView(
  parts: Pick<PagesParts, 'on' | 'now'>,
  { costUnit, hasPrices, groupBy }: Pick<PagesSettings, 'costUnit' | 'hasPrices' | 'groupBy'>,
  { span: asked, projectId, group, own }: AskedCosts,
): Promise<Costs> {
  const { now } = parts
  const costs = costsIn(parts)
  const extent = await trendsIn(parts).extent(projectId === undefined ? {} : { projectId })
  const span = asked === undefined || asked === '24h' ? openingDays(extent, now()) : asked
  const until = now() - (now() % day) + day
  const since = until - spans[span].length
  const query: CostQuery = { since, until, projectId, group }
  const lines = async (by: CostGroup, limit: number): Promise<readonly CostLine[]> => costs.lines(by, query, limit)
  const [[total], places, projects, jobs, branches, workers, days, [before], retained] = await Promise.all([
    lines('total', 1),
    projectId === undefined ? lines('place', maxPlaces) : undefined,
    projectId === undefined ? lines('project', shownCosts.projects) : [],
    lines('job', shownCosts.jobs),
    lines('branch', shownCosts.few),
    lines('worker', shownCosts.few),
    lines('day', shownCosts.days),
    costs.lines('total', { ...query, since: since - spans[span].length, until: since }, 1),
    costs.retained({ ...query, limit: shownCosts.retained }),
  ])
  const isWhole = extent !== undefined && extent.first <= since - spans[span].length
  return {
    ...{ span, since, until, group, own },
    ...(projectId !== undefined && total !== undefined && { project: { id: projectId, name: total.project } }),
    ...(hasPrices === true && { unit: costUnit }),
    ...(total !== undefined && { total }),
    ...(isWhole && before !== undefined && { before }),
    ...groupsOf(places, { scope: group, groupBy, pathOf: one => one.project, branchOf: one => one.name }, groupLines),
    ...{ projects, jobs, branches, workers, days, retained },
  }
}

function openingDays(extent: TrendExtent | undefined, now: Millis): Span {
  const span = openingSpan(extent, now)
  return span === '24h' ? '7d' : span
}

/** The most expensive first. */
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
