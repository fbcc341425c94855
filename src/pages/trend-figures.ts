// Figures over time as the page and the JSON API show them: percentiles from bins, and what is asked for how long.
import { percentileOf, plusBins } from '../lib/log-bins.ts'
import type { TrendRow, TrendStep, TrendTotal } from '../store/ports/trends.ts'
import type { Millis } from '../model/instant.ts'
import type { PagesSources } from './ports.ts'

export const hour = 3_600_000
export const day = 86_400_000

export const spans = {
  '24h': { step: hour, length: 24 * hour, name: '24 hours' },
  '7d': { step: day, length: 7 * day, name: '7 days' },
  '30d': { step: day, length: 30 * day, name: '30 days' },
  '90d': { step: day, length: 90 * day, name: '90 days' },
} as const satisfies Record<string, { step: TrendStep; length: number; name: string }>

export type Span = keyof typeof spans

export function spanOf(text: string | null): Span {
  return text !== null && Object.hasOwn(spans, text) ? (text as Span) : '30d'
}

/** Durations in ms; undefined where nothing was counted. */
export interface TrendPoint {
  readonly at: Millis
  readonly runs: number
  readonly failed: number
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly queueP50?: number | undefined
}

export interface TrendLine {
  readonly projectId: number
  readonly project: string
  readonly job: string
  readonly runs: number
  readonly failed: number
  readonly flaky: number
  readonly meanMs: number
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly queueP50?: number | undefined
  readonly queueP95?: number | undefined
}

export interface Trends {
  readonly span: Span
  readonly step: TrendStep
  readonly since: Millis
  readonly until: Millis
  /** Undefined: all projects. */
  readonly project?: { readonly id: number; readonly name: string } | undefined
  readonly job?: string | undefined
  readonly points: readonly TrendPoint[]
  readonly projects: readonly TrendLine[]
  readonly slowest: readonly TrendLine[]
  readonly flakiest: readonly TrendLine[]
}

/** Projects in their table. */
export const mostProjects = 30
const rows = { projects: mostProjects, jobs: 10 }

export async function trendsOf(
  { views }: Pick<PagesSources, 'views'>,
  asked: { readonly span: Span; readonly projectId?: number | undefined; readonly job?: string | undefined },
  now: Millis,
): Promise<Trends> {
  const { step, length } = spans[asked.span]
  const until = now - (now % step) + step
  const query = { step, since: until - length, until }
  const { projectId, job } = asked
  const scope = { ...query, projectId }
  const subject = projectId === undefined ? {} : { projectId, ...(job === undefined ? {} : { job }) }
  const [series, projects, slowest, flakiest] = await Promise.all([
    views.trends.series(subject, query),
    views.trends.projects(query, rows.projects),
    views.trends.jobs('slowest', scope, rows.jobs),
    views.trends.jobs('flakiest', scope, rows.jobs),
  ])
  const name = projects.find(one => one.projectId === projectId)?.project ?? series[0]?.project
  return {
    span: asked.span,
    ...query,
    project: projectId === undefined ? undefined : { id: projectId, name: name ?? String(projectId) },
    job,
    points: pointsOf(series),
    projects: projects.map(lineOf),
    slowest: slowest.map(lineOf),
    flakiest: flakiest.map(lineOf),
  }
}

/** Projects of one id on several instances are shown as one here. */
function pointsOf(series: readonly TrendRow[]): TrendPoint[] {
  return [...Map.groupBy(series, row => row.bucket)].map(([at, some]) => {
    const sum = (of: (row: TrendRow) => number): number => some.reduce((total, row) => total + of(row), 0)
    const durations = some.map(row => row.durations).reduce(plusBins, {})
    const queues = some.map(row => row.queues).reduce(plusBins, {})
    return {
      at,
      runs: sum(row => row.runs),
      failed: sum(row => row.failed),
      p50: percentileOf(durations, 0.5),
      p95: percentileOf(durations, 0.95),
      queueP50: percentileOf(queues, 0.5),
    }
  })
}

function lineOf({ projectId, project, job, runs, failed, flaky, totalMs, durations, queues }: TrendTotal): TrendLine {
  return {
    projectId,
    project,
    job,
    runs,
    failed,
    flaky,
    meanMs: runs === 0 ? 0 : totalMs / runs,
    p50: percentileOf(durations, 0.5),
    p95: percentileOf(durations, 0.95),
    queueP50: percentileOf(queues, 0.5),
    queueP95: percentileOf(queues, 0.95),
  }
}
