// Delta metrics: points for each pipeline, deployment, change and incident, at the time when it happened.
import type { AnyChunk } from '../../../model/event.ts'
import { overflowAttributes, underOtherNames, bucketed } from '../../../model/totals.ts'
import { resourceAttributesOf } from '../resource.ts'
import type { ResourceMetrics } from '../otlp/messages.ts'
import type { TelemetrySettings } from '../settings.ts'
import { resourceMetrics, sumOf, type MeasuredMetric, type Point, type PointAttributes } from './data.ts'
import { boundsOf, exemplarOf, headOf, joined, limitedOf, samplesOf, type Sample } from './samples.ts'
import { pointsOfStates } from './cumulative.ts'

// Limits the number of series with delta temporality, for which no totals are stored. The limit applies to this process's series, as in an
// OpenTelemetry SDK.

/** The maximum number of tracked series. When it is exceeded, all series are dropped, and each metric starts counting its series from zero. */
const maxRemembered = 200_000

export interface SeriesCap {
  /** Returns false if this series would exceed the metric's limit. `maxSeries`: a limit for this metric that is lower than the general one. */
  admits(owner: string, metric: string, series: string, maxSeries?: number): boolean
  /** Returns false if this value would exceed the limit of `max` values for an attribute. */
  admitsName(owner: string, metric: string, value: string, max: number): boolean
}

/** Creates a series limit. `limit`: the maximum number of series per metric and project, including the overflow series. */
export function createSeriesCap(limit: number): SeriesCap {
  const seen = new Map<string, Set<string>>()
  let remembered = 0
  const fits = (name: string, value: string, max: number): boolean => {
    const known = seen.get(name) ?? new Set()
    if (known.has(value)) return true
    if (known.size >= max) return false
    if (remembered >= maxRemembered) {
      seen.clear()
      known.clear()
      remembered = 0
    }
    seen.set(name, known.add(value))
    remembered += 1
    return true
  }
  return {
    admits: (owner, metric, series, maxSeries = limit) =>
      fits(`${owner}\n${metric}`, series, Math.min(limit, maxSeries) - 1),
    admitsName: (owner, metric, value, max) => fits(`${owner}\n${metric}\nnames`, value, max),
  }
}

/**
 * Returns the delta points of a chunk, or undefined if it has no metrics. A point covers only the millisecond before the time of its sample, so that
 * points of parallel pipelines do not overlap.
 */
export function toDelta(chunk: AnyChunk, settings: TelemetrySettings, cap?: SeriesCap): ResourceMetrics | undefined {
  const measured = samplesOf(chunk, settings)
  if (measured === undefined) return undefined
  const { at } = measured
  if (measured.samples.length === 0) return undefined
  const samples = samplesWithin(cap, `${chunk.key.instance}\n${chunk.project?.id ?? ''}`, measured.samples)
  const metrics = [...Map.groupBy(samples, ({ metric }) => metric)].flatMap(([name, ofMetric]): MeasuredMetric[] => {
    const row = ofMetric[0]?.row
    if (row === undefined) return []
    const points = ofMetric.map((sample): Point => {
      const { attributes } = sample
      const value = valueOf(sample, boundsOf(sample.row, settings))
      return { attributes, start: Math.max(0, at - 1), end: at, value, exemplar: exemplarOf(sample, measured) }
    })
    const exported = pointsOfStates(row, points, settings)
    return [{ head: headOf(row, settings), name, temporality: 'delta', points: exported }]
  })
  return resourceMetrics(resourceAttributesOf(chunk, settings), metrics)
}

/** Returns the samples within the limits of names and series. Samples beyond a limit share one overflow series. */
function samplesWithin(cap: SeriesCap | undefined, owner: string, samples: readonly Sample[]): readonly Sample[] {
  return cap === undefined ? samples : joined(samples.map(sample => sampleWithin(cap, owner, sample)))
}

function sampleWithin(cap: SeriesCap, owner: string, sample: Sample): Sample {
  const { row, metric } = sample
  const limited = limitedOf(sample)
  const isBeyond = limited !== undefined && !cap.admitsName(owner, metric, limited.value, limited.max)
  const series = isBeyond ? underOtherNames({ metric, attributes: sample.series }, limited).attributes : sample.series
  if (!cap.admits(owner, metric, series, row.maxSeries)) return under(sample, overflowAttributes)
  return isBeyond ? under(sample, series) : sample
}

function under(sample: Sample, series: string): Sample {
  return { ...sample, series, attributes: JSON.parse(series) as PointAttributes }
}

function valueOf({ row, values }: Sample, bounds: readonly number[]): Point['value'] {
  const sum = sumOf(values)
  if (row.type !== 'histogram') return sum
  return { bounds, counts: bucketed(values, bounds), sum, min: Math.min(...values), max: Math.max(...values) }
}
