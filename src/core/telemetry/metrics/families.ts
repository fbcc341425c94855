// Pipeline metrics for scraping. There is one metric per name for all projects, groups and instances; labels on its points name the project, group or
// instance.
import { ValueType } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import { nameOf, ownerOf } from '../mapping/resource.ts'
import { sumOf, type Buckets, type MeasuredMetric, type Point, type PointAttributes } from './data.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

/** The labels added to all series. */
export const projectLabels = [
  'platform_url',
  'project_id',
  'project_path',
  // These labels are named as an OpenTelemetry Collector names resource attributes, so that dashboards work with metrics from either program.
  'vcs_owner_name',
  'vcs_repository_name',
] as const

/** The metrics of a project or a group, or of the instance if neither is set. */
export interface OwnedMetrics<Owner extends MetricOwner = MetricOwner> {
  readonly owner: Owner
  readonly metrics: readonly MeasuredMetric[]
}

export interface MetricOwner {
  readonly instance: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

/** Converts metrics to OpenTelemetry SDK types, with labels that name their project, group or instance. */
export function sdkMetrics(all: readonly OwnedMetrics[]): MetricData[] {
  const labelled = all.flatMap(({ owner, metrics }) => {
    const labels = labelsOf(owner)
    const withLabels = (point: Point): Point => ({ ...point, attributes: { ...point.attributes, ...labels } })
    return metrics.map(metric => ({ ...metric, points: metric.points.map(withLabels) }))
  })
  return [...Map.groupBy(labelled, ({ name }) => name).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : asSdkMetric({ ...first, points: [first, ...others].flatMap(({ points }) => points) }),
  )
}

/** Returns a metric without points, as an OpenTelemetry SDK type. */
export function emptyMetric({ head, name }: Pick<MeasuredMetric, 'head' | 'name'>): MetricData {
  return asSdkMetric({ head, name, temporality: 'cumulative', points: [] })
}

function labelsOf({ instance, project, group }: MetricOwner): PointAttributes {
  const values = [instance, project?.id.toString(), project?.path, group ?? ownerOf({ project }), nameOf({ project })]
  return Object.fromEntries(projectLabels.map((label, index) => [label, values[index] ?? '']))
}

/** Converts a metric to the OpenTelemetry SDK type of the daemon's own metrics, because both appear on the same page. */
function asSdkMetric({ head, name, points }: MeasuredMetric): MetricData {
  const { unit, description, type } = head
  const common = {
    descriptor: { name, description, unit, valueType: head.number === 'int' ? ValueType.INT : ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const dataPoints = points.map(({ attributes, start, end, value, exemplar }) => ({
    attributes,
    // The exemplar is added for OpenMetrics; the SDK type does not have one.
    exemplar,
    startTime: millisToHrTime(start),
    endTime: millisToHrTime(end),
    value: typeof value === 'number' ? value : asSdkHistogram(value),
  }))
  switch (type) {
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: dataPoints as DataPoint<number>[] }
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: dataPoints as DataPoint<Histogram>[] }
    case 'counter':
    case 'updowncounter':
      return {
        ...common,
        dataPointType: DataPointType.SUM,
        isMonotonic: type === 'counter',
        dataPoints: dataPoints as DataPoint<number>[],
      }
  }
}

function asSdkHistogram({ bounds, counts, sum }: Buckets): Histogram {
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, count: sumOf(counts), sum }
}
