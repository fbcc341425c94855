// Metrics in the shape that the official serializers take.
import { ValueType, type Attributes } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'
import type { Millis } from '../../model/instant.ts'
import { scope } from '../otlp/scope.ts'
import { hrTimeOf } from '../span-time.ts'
import type { MetricHead } from '../mapping/metrics.ts'

export type Temporality = 'cumulative' | 'delta'

/** A point's value: a number, or a histogram's buckets. */
export type PointValue = number | Histogram

export interface Point {
  readonly attributes: Attributes
  readonly start: Millis
  readonly end: Millis
  readonly value: PointValue
}

/** One metric with its points. `name`: as it leaves. */
export function metricData(
  head: MetricHead,
  name: string,
  temporality: Temporality,
  points: readonly Point[],
): MetricData {
  const { unit, says: description } = head
  const valueType = head.number === 'int' ? ValueType.INT : ValueType.DOUBLE
  const common = {
    descriptor: { name, description, unit, valueType },
    aggregationTemporality: temporality === 'delta' ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
  }
  const dataPoints = points.map(({ attributes, start, end, value }) => ({
    attributes,
    startTime: hrTimeOf(start),
    endTime: hrTimeOf(end),
    value,
  }))
  switch (head.type) {
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: dataPoints as DataPoint<number>[] }
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: dataPoints as DataPoint<Histogram>[] }
    case 'counter':
    case 'updowncounter':
      return {
        ...common,
        dataPointType: DataPointType.SUM,
        isMonotonic: head.type === 'counter',
        dataPoints: dataPoints as DataPoint<number>[],
      }
  }
}

export function resourceMetrics(resource: Resource, metrics: MetricData[]): ResourceMetrics {
  return { resource, scopeMetrics: [{ scope, metrics }] }
}

/** A histogram's value. Smallest and greatest are known of single values only: totals do not keep them. */
export function histogramOf(
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
  values: readonly number[] = [],
): Histogram {
  return {
    buckets: { boundaries: [...bounds], counts: [...counts] },
    count: counts.reduce((all, count) => all + count, 0),
    sum,
    ...(values.length === 0 ? {} : { min: Math.min(...values), max: Math.max(...values) }),
  }
}
