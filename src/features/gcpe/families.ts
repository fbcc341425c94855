// Collects the metric points (`table.ts`) of one scrape. The number of series is limited per metric and project.
import { ValueType } from '@opentelemetry/api'
import { AggregationTemporality, DataPointType, type MetricData, type ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { scope } from '../../core/telemetry/resource.ts'
import type { GcpeRow } from './table.ts'

/**
 * The metrics of one scrape. Subjects are added one by one, the most important subjects of a project first; `scopes` returns the points of all
 * metrics.
 */
export interface GcpeFamilies {
  /** Adds a point for the subject to each metric of a table. */
  add<S>(rows: readonly GcpeRow<S>[], subject: S): void
  scopes(): ScopeMetrics[]
}

interface Family {
  readonly row: Pick<GcpeRow<never>, 'name' | 'type' | 'description'>
  readonly points: { readonly attributes: Record<string, string>; readonly value: number }[]
  /**
   * The label sets of all points so far. They are needed because two instances may have a project with the same path, and Prometheus accepts each
   * series only once.
   */
  readonly seen: Set<string>
  readonly perProject: Map<string, number>
}

/** `maxSeries` is the limit per metric and project. Further series are dropped and not summed, because a sum of states has no meaning. */
export function createGcpeFamilies(maxSeries: number): GcpeFamilies {
  const families = new Map<string, Family>()
  return {
    add: (rows, subject) => {
      for (const row of rows) {
        const family = families.get(row.name) ?? { row, points: [], seen: new Set(), perProject: new Map() }
        families.set(row.name, family)
        const value = row.value(subject)
        if (value !== undefined) addPoint(family, labelsOf(row, subject), value, maxSeries)
      }
    },
    scopes: () => [{ scope, metrics: [...families.values()].filter(({ points }) => points.length > 0).map(metricOf) }],
  }
}

function labelsOf<S>({ labels }: GcpeRow<S>, subject: S): Record<string, string> {
  return Object.fromEntries(labels.map(([name, value]) => [name, value(subject)]))
}

function addPoint(
  { points, seen, perProject }: Family,
  attributes: Record<string, string>,
  value: number,
  maxSeries: number,
): void {
  const { project = '' } = attributes
  const count = perProject.get(project) ?? 0
  const series = JSON.stringify(attributes)
  if (count >= maxSeries || seen.has(series)) return
  seen.add(series)
  perProject.set(project, count + 1)
  points.push({ attributes, value })
}

function metricOf({ row, points }: Family): MetricData & { readonly hasExactName: true } {
  const never: [number, number] = [0, 0]
  const common = {
    descriptor: { name: row.name, description: row.description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPoints: points.map(point => ({ ...point, startTime: never, endTime: never })),
    hasExactName: true as const,
  }
  return row.type === 'gauge'
    ? { ...common, dataPointType: DataPointType.GAUGE }
    : { ...common, dataPointType: DataPointType.SUM, isMonotonic: true }
}
