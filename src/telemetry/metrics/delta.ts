// Delta metrics: one set of points for each pipeline, at the time it ended.
import type { Attributes } from '@opentelemetry/api'
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { Chunk } from '../../model/chunk.ts'
import { overflowAttributes } from '../../model/totals.ts'
import { resourceOf } from '../mapping/resource.ts'
import type { TelemetrySettings } from '../settings.ts'
import { bucketed } from './buckets.ts'
import { histogramOf, metricData, resourceMetrics, type Point, type PointValue } from './data.ts'
import { samplesOf, type Sample } from './samples.ts'
import type { SeriesCap } from './series-cap.ts'

/**
 * Undefined for parts that carry no metrics. A point's window is the millisecond before the pipeline's end: so windows of
 * pipelines that ran side by side do not overlap.
 */
export function toDelta(part: Chunk, settings: TelemetrySettings, cap?: SeriesCap): ResourceMetrics | undefined {
  const told = samplesOf(part, settings)
  if (told === undefined) return undefined
  const { at, samples } = told
  const owner = `${part.key.instance}\n${part.project.id}`
  const metrics = [...Map.groupBy(samples, ({ row }) => row)].map(([row, ofRow]): MetricData => {
    const points = ofRow.map((sample): Point => {
      const attributes = attributesWithin(cap, owner, sample)
      return { attributes, start: Math.max(0, at - 1), end: at, value: valueOf(sample, settings.histogramBounds) }
    })
    return metricData(row, ofRow[0]?.metric ?? row.name, 'delta', points)
  })
  return resourceMetrics(resourceOf(part, settings), metrics)
}

function attributesWithin(
  cap: SeriesCap | undefined,
  owner: string,
  { metric, series, attributes }: Sample,
): Attributes {
  if (cap === undefined || cap.admits(owner, metric, series)) return attributes
  return JSON.parse(overflowAttributes) as Attributes
}

function valueOf({ row, values }: Sample, bounds: readonly number[]): PointValue {
  const sum = values.reduce((all, value) => all + value, 0)
  if (row.type !== 'histogram') return sum
  return histogramOf(bounds, bucketed(values, bounds), sum, values)
}
