// Delta metrics: points for each pipeline, deployment, change and incident, at its time.
import type { AnyChunk } from '../../model/event.ts'
import { overflowAttributes } from '../../model/totals.ts'
import { resourceAttributesOf } from '../resource.ts'
import type { ResourceMetrics } from '../otlp/messages.ts'
import type { TelemetrySettings } from '../settings.ts'
import { bucketed } from './buckets.ts'
import { resourceMetrics, type MeasuredMetric, type Point, type PointAttributes } from './data.ts'
import { boundsOf, exemplarOf, headOf, samplesOf, type Sample } from './samples.ts'
import type { SeriesCap } from './series-cap.ts'

/** Undefined if a chunk has no metrics. A point covers the millisecond before the end, so that those of parallel pipelines do not overlap. */
export function toDelta(chunk: AnyChunk, settings: TelemetrySettings, cap?: SeriesCap): ResourceMetrics | undefined {
  const measured = samplesOf(chunk, settings)
  if (measured === undefined) return undefined
  const { at, samples } = measured
  if (samples.length === 0) return undefined
  const owner = `${chunk.key.instance}\n${chunk.project?.id ?? ''}`
  const metrics = [...Map.groupBy(samples, ({ metric }) => metric)].flatMap(([name, ofMetric]): MeasuredMetric[] => {
    const row = ofMetric[0]?.row
    if (row === undefined) return []
    const points = ofMetric.map((sample): Point => {
      const attributes = attributesWithin(cap, owner, sample)
      const value = valueOf(sample, boundsOf(sample.row, settings))
      return { attributes, start: Math.max(0, at - 1), end: at, value, exemplar: exemplarOf(sample, measured) }
    })
    return [{ head: headOf(row, settings), name, temporality: 'delta', points }]
  })
  return resourceMetrics(resourceAttributesOf(chunk, settings), metrics)
}

function attributesWithin(
  cap: SeriesCap | undefined,
  owner: string,
  { row, metric, series, attributes }: Sample,
): PointAttributes {
  if (cap === undefined || cap.admits(owner, metric, series, row.maxSeries)) return attributes
  return JSON.parse(overflowAttributes) as PointAttributes
}

function valueOf({ row, values }: Sample, bounds: readonly number[]): Point['value'] {
  const sum = values.reduce((all, value) => all + value, 0)
  if (row.type !== 'histogram') return sum
  return { bounds, counts: bucketed(values, bounds), sum, min: Math.min(...values), max: Math.max(...values) }
}
