// Running totals of a project's metrics: what one attempt adds, and how it is added. Knows no metric by name.
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/** Whose total it is. */
export interface ProjectKey {
  readonly instance: string
  readonly projectId: number
}

/** One of the pipelines behind a number, to look at: what it added, and its span. */
export interface Exemplar {
  readonly at: Millis
  readonly value: number
  readonly traceId: string
  readonly spanId: string
}

/** What one measurement adds to a series. Of a sum or a histogram one exemplar is kept, the latest. */
export type Amount =
  | { readonly kind: 'sum'; readonly by: number; readonly exemplar?: Exemplar | undefined }
  /** The latest by the time it is true of: an old pipeline's value does not replace a newer one's. */
  | { readonly kind: 'last'; readonly value: number; readonly at: Millis }
  /** `counts` has one more than `bounds`: the last is what lies above all of them. */
  | {
      readonly kind: 'histogram'
      readonly bounds: readonly number[]
      readonly counts: readonly number[]
      readonly sum: number
      readonly exemplar?: Exemplar | undefined
    }

/** One metric's attributes as sorted JSON: a series is known by both. */
export interface SeriesName {
  readonly metric: string
  readonly attributes: string
}

export interface Increment extends SeriesName {
  readonly amount: Amount
  /** An attribute was folded into a coarser value to keep the number of series small. */
  readonly folded?: true | undefined
  /** Series that the metric may have, where these are fewer than of the project's other metrics. */
  readonly maxSeries?: number | undefined
}

/** What one attempt adds to its project's totals. */
export interface ProjectIncrements {
  readonly key: ProjectKey
  /** As known now: the totals follow a renamed project. */
  readonly project: ProjectFacts
  readonly profile: string
  /** Series that one metric of the project may have, the overflow series included. */
  readonly maxSeries: number
  readonly increments: readonly Increment[]
}

/** A series since `startedAt`. */
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

/** Runs under way, of one name and status. */
export interface ActiveRuns {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  /** Undefined for pipelines without a name. */
  readonly name?: string | undefined
  readonly status: string
  readonly count: number
}

/** The attributes of the one series that takes what a metric's limit of series leaves out (OpenTelemetry metrics SDK, "Cardinality limits"). */
export const overflowAttributes = '{"otel.metric.overflow":true}'

/** The series an increment belongs to. Other bounds make another series: counts of different buckets cannot be added. */
export function seriesId({ metric, attributes, amount }: Increment | SeriesTotal): string {
  return JSON.stringify([metric, attributes, shapeOf(amount)])
}

/** What two amounts must share to be added. */
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
