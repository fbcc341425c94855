// Pipeline metrics for scraping: each family once for all projects that are added, which labels tell apart.
import { ValueType } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics'
import { activeData, totalsData, type ActiveTotals, type ProjectMetrics } from './cumulative.ts'
import { gaugesData } from './gauges.ts'
import { nameOf, ownerOf } from '../mapping/resource.ts'
import { sumOf, type Buckets, type MeasuredMetric, type Point, type PointAttributes } from './data.ts'
import type { Millis } from '../../../model/instant.ts'
import type { FoundGauges } from './gauges.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { ProjectTotals } from '../../../model/totals.ts'
import { scope } from '../resource.ts'
import type { TelemetrySettings } from '../settings.ts'

/** The labels that are added to all series. */
export const projectLabels = [
  'platform_url',
  'project_id',
  'project_path',
  // As a Collector names the resource's attributes, so that dashboards work with both.
  'vcs_owner_name',
  'vcs_repository_name',
] as const

/** Projects are added one by one; `scopes` answers all of them. */
export interface Families {
  add(totals: ProjectTotals, now: Millis): void
  addActive(active: ActiveTotals, now: Millis): void
  addGauges(found: FoundGauges, now: Millis): void
  addMetrics(measured: ProjectMetrics): void
  scopes(): ScopeMetrics[]
}

export function createFamilies(settings: TelemetrySettings): Families {
  const families = new Map<string, { readonly metric: MeasuredMetric; readonly points: Point[] }>()
  const take = (owner: Labelled, metrics: readonly MeasuredMetric[]): void => {
    const labels = labelsOf(owner)
    for (const metric of metrics) {
      const family = families.get(metric.name) ?? { metric, points: [] }
      family.points.push(...metric.points.map(point => ({ ...point, attributes: { ...point.attributes, ...labels } })))
      families.set(metric.name, family)
    }
  }
  return {
    add: (totals, now) => take(totals, totalsData(totals.series, now, settings)),
    addActive: (active, now) => take(active, activeData(active, now, settings)),
    addMetrics: measured => take(measured, measured.metrics),
    addGauges: (found, now) => {
      const { instance, project, group } = found
      take({ key: { instance, projectId: project?.id }, project, group }, gaugesData(found, now, settings))
    },
    scopes: () => [
      { scope, metrics: [...families.values()].map(({ metric, points }) => asSdkMetric({ ...metric, points })) },
    ],
  }
}

/** A metric without points, as the SDK has it. */
export function emptyMetric({ head, name }: Pick<MeasuredMetric, 'head' | 'name'>): MetricData {
  return asSdkMetric({ head, name, temporality: 'cumulative', points: [] })
}

/** The owner of metrics: a project, a group, or else the instance. */
interface Labelled {
  readonly key: { readonly instance: string; readonly projectId?: number | undefined }
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

function labelsOf({ key, project, group }: Labelled): PointAttributes {
  const { instance, projectId } = key
  const values = [instance, projectId?.toString(), project?.path, group ?? ownerOf({ project }), nameOf({ project })]
  return Object.fromEntries(projectLabels.map((label, index) => [label, values[index] ?? '']))
}

/** As the SDK has the daemon's own metrics, which are on the same page. */
function asSdkMetric({ head, name, points }: MeasuredMetric): MetricData {
  const { unit, description, type } = head
  const common = {
    descriptor: { name, description, unit, valueType: head.number === 'int' ? ValueType.INT : ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const dataPoints = points.map(({ attributes, start, end, value, exemplar }) => ({
    attributes,
    // For OpenMetrics; the SDK's type has none.
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
