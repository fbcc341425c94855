// Running totals of a project's metrics: the increments of one attempt, and how they are added. It knows no metric by name.
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

export interface ProjectKey {
  readonly instance: string
  readonly projectId: number
}

/** An OpenTelemetry exemplar: one measurement, with the span that it came from. */
export interface Exemplar {
  readonly at: Millis
  readonly value: number
  readonly traceId: string
  readonly spanId: string
}

/** What one measurement adds to a series. A sum or a histogram has one exemplar, the latest. */
export type Amount =
  | { readonly kind: 'sum'; readonly by: number; readonly exemplar?: Exemplar | undefined }
  /** A gauge. `at` orders the values: that of an older pipeline does not replace a newer one's. */
  | { readonly kind: 'last'; readonly value: number; readonly at: Millis }
  /** `counts` has one entry more than `bounds`, for what lies above all of them. */
  | {
      readonly kind: 'histogram'
      readonly bounds: readonly number[]
      readonly counts: readonly number[]
      readonly sum: number
      readonly exemplar?: Exemplar | undefined
    }

/** The attributes are sorted JSON, so that equal ones are equal as text. */
export interface SeriesName {
  readonly metric: string
  readonly attributes: string
}

export interface Increment extends SeriesName {
  readonly amount: Amount
  /** An attribute was replaced by a coarser value, to limit the number of series. */
  readonly folded?: true | undefined
  /** The metric's own limit of series, if it is lower than that of the project's other metrics. */
  readonly maxSeries?: number | undefined
  readonly limited?: LimitedName | undefined
}

/** An attribute of a series that has at most `max` values in a project: every further value becomes `otherNames`. */
export interface LimitedName {
  readonly attribute: string
  readonly value: string
  readonly max: number
}

/** Stands for all names beyond the limit. */
export const otherNames = '*'

/** The series for the names beyond the limit. The attributes stay in order. */
export function underOtherNames<T extends SeriesName>(series: T, { attribute }: LimitedName): T {
  const attributes = JSON.parse(series.attributes) as Record<string, unknown>
  return { ...series, attributes: JSON.stringify({ ...attributes, [attribute]: otherNames }) }
}

/** What one attempt adds to its project's totals. */
export interface ProjectIncrements {
  readonly key: ProjectKey
  /** The latest facts: the totals of a renamed project get its new name. */
  readonly project: ProjectFacts
  readonly profile: string
  /** How many series each metric of the project may have, including the overflow series. */
  readonly maxSeries: number
  readonly increments: readonly Increment[]
}

/** The total since `startedAt`. */
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

/** Number of active runs with one pipeline name and status. */
export interface ActiveRuns {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  /** Undefined for pipelines without a name. */
  readonly name?: string | undefined
  readonly status: string
  readonly count: number
}

/** A job that waits for a runner or occupies one. */
export interface ActiveJob {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly id: number
  readonly state: 'pending' | 'running'
  readonly workerType?: string | undefined
  /** The tags of its runner, or else those that it requires; undefined if unknown. */
  readonly tags?: readonly string[] | undefined
  /** Since when it has waited at least, by the last observation of its run; undefined if it runs. */
  readonly pendingSince?: Millis | undefined
}

/** Number of active jobs of a project in one state, with one type of runner and one set of tags. */
export interface ActiveJobs {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly state: ActiveJob['state']
  readonly workerType?: string | undefined
  readonly tagSet?: string | undefined
  readonly count: number
  /** Since when the oldest of them has waited; undefined if they run, or none is left. */
  readonly oldest?: Millis | undefined
}

/** Longer sets of tags share a name, to limit the number of series. */
const maxTagSetLength = 128

/** The sorted, joined tags, as one attribute. */
export function tagSetOf(tags: readonly string[] | undefined): string | undefined {
  const set = tags?.toSorted().join(',')
  return set !== undefined && set.length > maxTagSetLength ? '*' : set
}

/** The attributes of the series that collects everything beyond a metric's limit of series (OpenTelemetry metrics SDK, "Cardinality limits"). */
export const overflowAttributes = '{"otel.metric.overflow":true}'

/** The series of an increment. Histograms with other bounds are other series, as counts of different buckets cannot be added. */
export function seriesId({ metric, attributes, amount }: Increment | SeriesTotal): string {
  return JSON.stringify([metric, attributes, shapeOf(amount)])
}

/** Only amounts of the same shape can be added. */
export function shapeOf(amount: Amount): string {
  return amount.kind === 'histogram' ? `histogram ${amount.bounds.join(' ')}` : amount.kind
}

/** Both of one shape. */
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

/** Seconds; as in the platform's own exporter. */
export const defaultBounds: readonly number[] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600]

/** Seconds; for what takes minutes to weeks, such as from a commit to its deployment. */
export const longBounds: readonly number[] = [
  ...[300, 900, 3_600, 4 * 3_600, 12 * 3_600],
  ...[1, 2, 7, 14, 30, 90].map(days => days * 86_400),
]

/** One count for each bucket, upper bounds included (OTLP: `(lower, upper]`), and one above the last bound. */
export function bucketed(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  for (const value of values) {
    const found = bounds.findIndex(bound => value <= bound)
    const bucket = found === -1 ? bounds.length : found
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  return counts
}

/** Counters of increments whose ref or name was replaced by a common value, and of those that went to an overflow series. */
export const foldedCounters = {
  refs: 'metrics.folded.refs',
  names: 'metrics.folded.names',
  series: 'metrics.folded.series',
} as const
