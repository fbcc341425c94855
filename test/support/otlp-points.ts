// The data points of OTLP metrics in plain form: numbers, histograms, exponential histograms, summaries, exemplars.
import {
  millisOf,
  plainAttributes,
  plainId,
  plainInt,
  type Attributes,
  type Int64,
  type WireKeyValue,
} from '../../src/demo/otlp-values.ts'

export interface PointHead {
  readonly attributes: Attributes
  /** Unix nanoseconds, exact; 0 when the point says none. */
  readonly startNanos: bigint
  readonly nanos: bigint
  /** Unix milliseconds. */
  readonly start: number
  readonly time: number
  readonly flags: number
}

export interface NumberPoint extends PointHead {
  readonly value: number | bigint | undefined
  /** True for `as_int`. */
  readonly integer: boolean
  readonly exemplars: readonly ReceivedExemplar[]
}

interface Distribution extends PointHead {
  readonly count: number | bigint
  readonly sum: number | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  readonly exemplars: readonly ReceivedExemplar[]
}

export interface HistogramPoint extends Distribution {
  readonly bounds: readonly number[]
  readonly counts: readonly (number | bigint)[]
}

export interface ExponentialPoint extends Distribution {
  readonly scale: number
  readonly zeroCount: number | bigint
  readonly zeroThreshold: number
  readonly positive: { readonly offset: number; readonly counts: readonly (number | bigint)[] }
  readonly negative: { readonly offset: number; readonly counts: readonly (number | bigint)[] }
}

export interface SummaryPoint extends PointHead {
  readonly count: number | bigint
  readonly sum: number
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[]
}

export interface ReceivedExemplar {
  readonly value: number | bigint | undefined
  readonly nanos: bigint
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly attributes: Attributes
}

interface WireNumber {
  readonly value?: 'asDouble' | 'asInt'
  readonly asDouble: number
  readonly asInt: Int64
}

interface WireExemplar extends WireNumber {
  readonly filteredAttributes: readonly WireKeyValue[]
  readonly timeUnixNano: Int64
  readonly spanId: Uint8Array
  readonly traceId: Uint8Array
}

interface WirePoint {
  readonly attributes: readonly WireKeyValue[]
  readonly startTimeUnixNano: Int64
  readonly timeUnixNano: Int64
  readonly flags: number
}

export type WireNumberPoint = WirePoint & WireNumber & { readonly exemplars: readonly WireExemplar[] }

interface WireDistribution extends WirePoint {
  readonly count: Int64
  readonly sum?: number
  readonly min?: number
  readonly max?: number
  readonly exemplars: readonly WireExemplar[]
}

export interface WireHistogramPoint extends WireDistribution {
  readonly bucketCounts: readonly Int64[]
  readonly explicitBounds: readonly number[]
}

interface WireBuckets {
  readonly offset: number
  readonly bucketCounts: readonly Int64[]
}

export interface WireExponentialPoint extends WireDistribution {
  readonly scale: number
  readonly zeroCount: Int64
  readonly zeroThreshold: number
  readonly positive?: WireBuckets | null
  readonly negative?: WireBuckets | null
}

export interface WireSummaryPoint extends WirePoint {
  readonly count: Int64
  readonly sum: number
  readonly quantileValues: readonly { readonly quantile: number; readonly value: number }[]
}

function pointHead(point: WirePoint): PointHead {
  const startNanos = point.startTimeUnixNano.toBigInt()
  const nanos = point.timeUnixNano.toBigInt()
  return {
    attributes: plainAttributes(point.attributes),
    startNanos,
    nanos,
    start: millisOf(startNanos),
    time: millisOf(nanos),
    flags: point.flags,
  }
}

export function numberPoint(point: WireNumberPoint): NumberPoint {
  return {
    ...pointHead(point),
    value: numberOf(point),
    integer: point.value === 'asInt',
    exemplars: point.exemplars.map(exemplar),
  }
}

export function histogramPoint(point: WireHistogramPoint): HistogramPoint {
  return { ...distribution(point), bounds: [...point.explicitBounds], counts: point.bucketCounts.map(plainInt) }
}

export function exponentialPoint(point: WireExponentialPoint): ExponentialPoint {
  return {
    ...distribution(point),
    scale: point.scale,
    zeroCount: plainInt(point.zeroCount),
    zeroThreshold: point.zeroThreshold,
    positive: buckets(point.positive),
    negative: buckets(point.negative),
  }
}

export function summaryPoint(point: WireSummaryPoint): SummaryPoint {
  const quantiles = point.quantileValues.map(({ quantile, value }) => ({ quantile, value }))
  return { ...pointHead(point), count: plainInt(point.count), sum: point.sum, quantiles }
}

function distribution(point: WireDistribution): Distribution {
  return {
    ...pointHead(point),
    count: plainInt(point.count),
    // An optional field that was not sent has its default on the prototype only.
    sum: Object.hasOwn(point, 'sum') ? point.sum : undefined,
    min: Object.hasOwn(point, 'min') ? point.min : undefined,
    max: Object.hasOwn(point, 'max') ? point.max : undefined,
    exemplars: point.exemplars.map(exemplar),
  }
}

function buckets(found: WireBuckets | null | undefined): ExponentialPoint['positive'] {
  return { offset: found?.offset ?? 0, counts: (found?.bucketCounts ?? []).map(plainInt) }
}

function exemplar(found: WireExemplar): ReceivedExemplar {
  return {
    value: numberOf(found),
    nanos: found.timeUnixNano.toBigInt(),
    traceId: plainId(found.traceId),
    spanId: plainId(found.spanId),
    attributes: plainAttributes(found.filteredAttributes),
  }
}

function numberOf(holder: WireNumber): number | bigint | undefined {
  if (holder.value === 'asInt') return plainInt(holder.asInt)
  return holder.value === 'asDouble' ? holder.asDouble : undefined
}
