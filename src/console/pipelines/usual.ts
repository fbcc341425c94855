// The usual duration of a pipeline or a job: its figures of the last 30 days for the same branch class; and how pages show it next to
// the duration of a run.
import { z } from 'zod'
import { branchClasses, type BranchClass } from '../../model/pipeline.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { remember } from '../../lib/bounded-map.ts'
import { number, roughly } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { roundPercentileOf, plusBins } from '../../lib/log-bins.ts'
import { day, trendJob, type TrendFigures, type TrendViews } from '../../core/store/ports/trends.ts'
import type { Millis } from '../../model/instant.ts'

export const usualShape = z
  .object({
    days: z.number(),
    branch: z.enum(branchClasses).optional().describe('Branch class; absent means all branches.'),
    pipelineName: z
      .string()
      .optional()
      .describe('Pipeline name, empty for pipelines without one; absent means all names.'),
    runs: z.number(),
    failed: z.number(),
    p50: ms.optional(),
    p95: ms.optional(),
    queueP50: ms.optional(),
    queueP95: ms.optional(),
  })
  .describe('Usual duration, for the same pipeline name and the same branch class if these have enough runs.')
export type Usual = Shaped<typeof usualShape>

/** The pipeline whose usual durations are wanted. */
interface UsualOf {
  readonly instance: string
  readonly projectId: number
  readonly branchClass: BranchClass
  /** The name under which trends count it. */
  readonly countedAs: string
}

export interface Usuals {
  /** By job name; `''` is the pipeline itself. Those without figures are left out. */
  of(pipeline: UsualOf, jobs: readonly string[]): Promise<ReadonlyMap<string, Usual>>
}

export const days = 30
/** With fewer runs nothing is called unusual. */
export const minRuns = 20
/** With fewer runs not even the median is shown. */
const minShown = 3
/** Durations within this factor count as equal, because percentiles are exact only to 5 %. */
export const slack = 1.1
/** How long figures are cached, ms. */
const believedFor = 300_000
/** How many are cached; the oldest is dropped first. */
const maxKnown = 20_000

type Counted = Awaited<ReturnType<TrendViews['ofJobs']>>

/** Caches what it reads, because live pages are rendered every second. */
export function createUsuals(trends: () => Pick<TrendViews, 'ofJobs'>, now: () => Millis): Usuals {
  const known = new Map<string, { readonly figures: Counted; readonly until: Millis }>()
  return {
    of: async (asked, jobs) => {
      const { instance, projectId } = asked
      const at = now()
      const nameOf = (job: string): string => `${projectId} ${instance} ${job}`
      const names = new Map(jobs.map(job => [job, trendJob(job)]))
      const missing = [...new Set(names.values())].filter(job => (known.get(nameOf(job))?.until ?? 0) <= at)
      if (missing.length > 0) {
        const query = { step: day, since: at - days * day, until: at + day } as const
        const rows = await trends().ofJobs({ instance, projectId }, missing, query)
        const found = Map.groupBy(rows, row => row.job)
        for (const job of missing) {
          remember(known, nameOf(job), { figures: found.get(job) ?? [], until: at + believedFor }, maxKnown)
        }
      }
      return new Map(
        [...names].flatMap(([job, name]) => {
          const usual = usualAmong(known.get(nameOf(name))?.figures ?? [], asked)
          return usual === undefined ? [] : [[job, usual] as const]
        }),
      )
    },
  }
}

/**
 * Of pipelines with the same name and branch class if these have enough runs; else of the name. All names count only if it has hardly any
 * run: a nightly pipeline says nothing about a check.
 */
function usualAmong(figures: Counted, { branchClass: branch, countedAs: pipelineName }: UsualOf): Usual | undefined {
  const ofName = figures.filter(one => one.pipelineName === pipelineName)
  const ofClass = (some: Counted): Counted => some.filter(one => one.branch === branch)
  if (runsOf(ofClass(ofName)) >= minRuns) return { ...usualOf(ofClass(ofName)), branch, pipelineName }
  if (runsOf(ofName) >= minShown) return { ...usualOf(ofName), pipelineName }
  if (runsOf(ofClass(figures)) >= minRuns) return { ...usualOf(ofClass(figures)), branch }
  return figures.length === 0 ? undefined : usualOf(figures)
}

function runsOf(figures: readonly TrendFigures[]): number {
  return figures.reduce((sum, { runs }) => sum + runs, 0)
}

function usualOf(figures: readonly TrendFigures[]): Usual {
  const durations = figures.map(one => one.durations).reduce(plusBins, {})
  const queues = figures.map(one => one.queues).reduce(plusBins, {})
  return {
    days,
    runs: runsOf(figures),
    failed: figures.reduce((sum, { failed }) => sum + failed, 0),
    p50: roundPercentileOf(durations, 0.5),
    p95: roundPercentileOf(durations, 0.95),
    queueP50: roundPercentileOf(queues, 0.5),
    queueP95: roundPercentileOf(queues, 0.95),
  }
}

const branchWords: Readonly<Record<BranchClass, string>> = {
  default: 'the default branch',
  merge_request: 'merge requests',
  tag: 'tags',
  other: 'other branches',
}

/** `on merge requests`; `of “Nightly” on the default branch`; `on all branches, of all pipeline names`. */
export function whereUsual({ branch, pipelineName }: Usual): string {
  const on = `on ${branch === undefined ? 'all branches' : branchWords[branch]}`
  if (pipelineName === undefined) return `${on}, of all pipeline names`
  return pipelineName === '' ? on : `of “${pipelineName}” ${on}`
}

/** Whether a run took longer than nearly all runs (p95). */
export function isUnusual(tookMs: number | undefined, usual: Usual | undefined): boolean {
  const { runs = 0, p95 } = usual ?? {}
  return tookMs !== undefined && p95 !== undefined && runs >= minRuns && tookMs > p95 * slack
}

/** The median and p95, to show after a duration; empty with too few runs. */
export function beside(tookMs: number | undefined, usual: Usual | undefined): Content {
  if (usual?.p50 === undefined || usual.runs < minShown) return ''
  const { p50, p95, runs } = usual
  const title = `Median ${roughly(p50)}, p95 ${roughly(p95)}, of ${number(runs)} runs in ${days} days ${whereUsual(usual)}`
  const isLong = isUnusual(tookMs, usual)
  return html`<span class="usual" title="${title}"
    >${isLong && tookMs !== undefined && html`<strong class="long">${times(tookMs / p50)}</strong> `}<span class="whole"
      >usually ${roughly(p50)}</span
    ><span class="p95">, <span class="whole">p95 ${roughly(p95)}</span></span
    >${usual.pipelineName === undefined && html`, of ${number(runs)} runs of all pipeline names`}</span
  >`
}

/** The same for the cell of a table. */
export function usualCell(tookMs: number | undefined, usual: Usual | undefined): Html {
  if (usual?.p50 === undefined || usual.runs < minShown) return html`<span class="figure dim">–</span>`
  const title = `${number(usual.runs)} runs in ${days} days ${whereUsual(usual)}`
  return html`<span class="figure" title="${title}"
    >${isUnusual(tookMs, usual) && html`<strong class="long">${times((tookMs ?? 0) / usual.p50)}</strong> `}${roughly(usual.p50)}
    <span class="dim">/ ${roughly(usual.p95)}</span></span
  >`
}

function times(factor: number): string {
  return `${factor >= 10 ? Math.round(factor) : factor.toFixed(1)}×`
}
