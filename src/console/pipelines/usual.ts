// The usual duration of a pipeline or a job, and how pages show it next to a run's duration. It is computed from the trends of the last 30 days for
// the same branch class.
import { z } from 'zod'
import { branchClasses, type BranchClass } from '../../model/pipeline.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { number, roughly } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { Slot } from '../../lib/slot.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reads } from '../../core/store/ports/reads.ts'

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

/** The pipeline whose usual durations are requested. */
export interface UsualOf {
  readonly instance: string
  readonly projectId: number
  readonly branchClass: BranchClass
  /** The name under which the pipeline is counted in trends. */
  readonly countedAs: string
}

export interface Usuals {
  /** Returns the usual durations by job name; the name `''` is the pipeline itself. Jobs without trend data are omitted. */
  of(pipeline: UsualOf, jobs: readonly string[]): Promise<ReadonlyMap<string, Usual>>
}

export const days = 30
/** The minimum number of counted runs for calling a duration unusual. */
export const minRuns = 20
/** The minimum number of counted runs for showing the median. */
export const minShown = 3
/** Durations within this factor are considered equal, because percentiles are only accurate to 5 %. */
export const slack = 1.1
/** The slot for usual durations, which a feature fills. If no feature fills it, no usual durations are shown. */
export const usualsSlot = new Slot<(reads: Pick<Reads, 'on'>, now: () => Millis) => Usuals>()
export const noUsuals: Usuals = { of: async () => new Map() }

const branchWords: Readonly<Record<BranchClass, string>> = {
  default: 'the default branch',
  merge_request: 'merge requests',
  tag: 'tags',
  other: 'other branches',
}

/** Describes which pipelines were counted: `on merge requests`; `of “Nightly” on the default branch`; `on all branches, of all pipeline names`. */
export function whereUsual({ branch, pipelineName }: Usual): string {
  const on = `on ${branch === undefined ? 'all branches' : branchWords[branch]}`
  if (pipelineName === undefined) return `${on}, of all pipeline names`
  return pipelineName === '' ? on : `of “${pipelineName}” ${on}`
}

/** Whether a run took longer than nearly all counted runs (p95). */
export function isUnusual(tookMs: number | undefined, usual: Usual | undefined): boolean {
  const { runs = 0, p95 } = usual ?? {}
  return tookMs !== undefined && p95 !== undefined && runs >= minRuns && tookMs > p95 * slack
}

/** Renders the median and p95 next to a duration; empty if too few runs were counted. */
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
