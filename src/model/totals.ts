// Declares the running totals of a project's metrics: the increments from one attempt, and how they are added. No metric is referred to by name.
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

export interface ProjectKey {
  readonly instance: string
  readonly projectId: number
}

/** An OpenTelemetry exemplar: one measurement and the span in which it was made. */
export interface Exemplar {
  readonly at: Millis
  readonly value: number
  readonly traceId: string
  readonly spanId: string
}

/** The amount that one measurement adds to a series. A sum or a histogram keeps only its latest exemplar. */
export type Amount =
  | { readonly kind: 'sum'; readonly by: number; readonly exemplar?: Exemplar | undefined }
  /** The value of a gauge. Values are ordered by `at`, so that a value from an older pipeline does not replace one from a newer pipeline. */
  | { readonly kind: 'last'; readonly value: number; readonly at: Millis }
  /** The counts of a histogram. `counts` has one more entry than `bounds`, for values above all bounds. */
  | {
      readonly kind: 'histogram'
      readonly bounds: readonly number[]
      readonly counts: readonly number[]
      readonly sum: number
      readonly exemplar?: Exemplar | undefined
    }

/** The name of a series. Its attributes are JSON with sorted keys, so that equal attributes are equal strings. */
export interface SeriesName {
  readonly metric: string
  readonly attributes: string
}

export interface Increment extends SeriesName {
  readonly amount: Amount
  /** True if an attribute was replaced by a coarser value to limit the number of series. */
  readonly folded?: true | undefined
  /** The metric's own series limit, if it is lower than the limit for the project's other metrics. */
  readonly maxSeries?: number | undefined
  readonly limited?: LimitedName | undefined
}

/** An attribute that may have at most `max` values in a project. Each further value is replaced by `otherNames`. */
export interface LimitedName {
  readonly attribute: string
  readonly value: string
  readonly max: number
}

/** The attribute value that replaces all names beyond the limit. */
export const otherNames = '*'

/** The series that collects all names beyond the limit. Its attributes stay sorted. */
export function underOtherNames<T extends SeriesName>(series: T, { attribute }: LimitedName): T {
  const attributes = JSON.parse(series.attributes) as Record<string, unknown>
  return { ...series, attributes: JSON.stringify({ ...attributes, [attribute]: otherNames }) }
}

/** The increments that one attempt adds to its project's totals. */
export interface ProjectIncrements {
  readonly key: ProjectKey
  /** The latest facts about the project, so that the totals of a renamed project get its new name. */
  readonly project: ProjectFacts
  readonly profile: string
  /** Maximum number of series per metric in the project, including the overflow series. */
  readonly maxSeries: number
  readonly increments: readonly Increment[]
}

/** The total of a series since `startedAt`. */
export interface SeriesTotal extends SeriesName {
  readonly amount: Amount
  readonly startedAt: Millis
}

export interface ProjectTotals {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly profile: string
  readonly series: readonly SeriesTotal[]
}

/** Number of active runs with a given pipeline name and status. */
export interface ActiveRuns {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  /** The name of the pipeline; undefined if it has none. */
  readonly name?: string | undefined
  readonly status: string
  readonly count: number
}

/** A job that is waiting for a runner or occupying one. */
export interface ActiveJob {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly id: number
  readonly state: 'pending' | 'running'
  readonly workerType?: string | undefined
  /** The tags of the job's runner, or else the tags that the job requires; undefined if unknown. */
  readonly tags?: readonly string[] | undefined
  /**
   * The earliest time at which the job is known to have been waiting, according to the last observation of its run. Undefined if the job is running.
   */
  readonly pendingSince?: Millis | undefined
}

/** Number of active jobs in a project with a given state, runner type and tag set. */
export interface ActiveJobs {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly state: ActiveJob['state']
  readonly workerType?: string | undefined
  readonly tagSet?: string | undefined
  readonly count: number
  /** When the longest-waiting job began to wait; undefined if the jobs are running or none is left. */
  readonly oldest?: Millis | undefined
}

/** Maximum length of a tag set, UTF-16 units. All longer tag sets are replaced by the same placeholder, to limit the number of series. */
const maxTagSetLength = 128

/** Joins the sorted tags into one attribute value. */
export function tagSetOf(tags: readonly string[] | undefined): string | undefined {
  const set = tags?.toSorted().join(',')
  return set !== undefined && set.length > maxTagSetLength ? '*' : set
}

/**
 * The attributes of the overflow series, which collects all measurements beyond a metric's series limit (OpenTelemetry metrics SDK, "Cardinality
 * limits").
 */
export const overflowAttributes = '{"otel.metric.overflow":true}'

/**
 * Identifies the series of an increment. Histograms with different bounds are different series, because the counts of different buckets cannot be
 * added.
 */
export function seriesId({ metric, attributes, amount }: Increment | SeriesTotal): string {
  return JSON.stringify([metric, attributes, shapeOf(amount)])
}

/** The shape of an amount: its kind and, for a histogram, its bounds. Only amounts of the same shape can be added. */
export function shapeOf(amount: Amount): string {
  return amount.kind === 'histogram' ? `histogram ${amount.bounds.join(' ')}` : amount.kind
}

/** Adds an amount to a total. Both must have the same shape. */
export function added(total: Amount, amount: Amount): Amount {
  if (total.kind === 'sum' && amount.kind === 'sum') {
    return { kind: 'sum', by: total.by + amount.by, ...latest(total, amount) }
  }
  if (total.kind === 'last' && amount.kind === 'last') return amount.at >= total.at ? amount : total
  if (total.kind === 'histogram' && amount.kind === 'histogram') {
    const counts = total.counts.map((count, index) => count + (amount.counts[index] ?? 0))
    return { kind: 'histogram', bounds: total.bounds, counts, sum: total.sum + amount.sum, ...latest(total, amount) }
  }
  throw new TypeError('totals of different shapes cannot be added')
}

interface Exemplary {
  readonly exemplar?: Exemplar | undefined
}

function latest({ exemplar: known }: Exemplary, { exemplar: own }: Exemplary): Exemplary {
  const exemplar = known === undefined || (own !== undefined && own.at >= known.at) ? own : known
  return exemplar === undefined ? {} : { exemplar }
}

/** The default upper bounds of histogram buckets, s, as in the platform's own exporter. */
export const defaultBounds: readonly number[] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600]

/** Upper bounds of histogram buckets for durations from minutes to weeks, s, such as the time from a commit to its deployment. */
export const longBounds: readonly number[] = [
  ...[300, 900, 3_600, 4 * 3_600, 12 * 3_600],
  ...[1, 2, 7, 14, 30, 90].map(days => days * 86_400),
]

/**
 * Counts values by bucket. Upper bounds are inclusive (OTLP: `(lower, upper]`). An additional count at the end is for values above the last bound.
 */
export function bucketed(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  for (const value of values) {
    const found = bounds.findIndex(bound => value <= bound)
    const bucket = found === -1 ? bounds.length : found
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  return counts
}

/** Counters of increments whose ref or name was replaced by a placeholder, and of increments that went to an overflow series. */
export const foldedCounters = {
  refs: 'metrics.folded.refs',
  names: 'metrics.folded.names',
  series: 'metrics.folded.series',
} as const
