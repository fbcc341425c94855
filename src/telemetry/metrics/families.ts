// Pipeline metrics as a scrape shows them: each family once, over all projects, told apart by labels.
import { nameOf, ownerOf } from '../mapping/resource.ts'
import { activePoints, totalsData, type ActiveTotals } from './cumulative.ts'
import { metricData } from './data.ts'
import { activeRunsMetric } from '../mapping/metrics.ts'
import type { MetricData, ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { Attributes } from '@opentelemetry/api'
import type { Millis } from '../../model/instant.ts'
import type { Owner } from './cumulative.ts'
import type { ProjectTotals } from '../../model/totals.ts'
import { scope } from '../otlp/scope.ts'
import type { TelemetrySettings } from '../settings.ts'

/** The labels that every series has besides its own. */
export const projectLabels = [
  'platform_url',
  'project_id',
  'project_path',
  // As a Collector writes the resource's attributes: a dashboard is right for either way.
  'vcs_owner_name',
  'vcs_repository_name',
] as const

/** One page of projects after the other may be added; `scopes` answers what was added. */
export interface Families {
  add(totals: ProjectTotals, now: Millis): void
  addActive(active: ActiveTotals, now: Millis): void
  scopes(): ScopeMetrics[]
}

export function createFamilies(settings: TelemetrySettings): Families {
  const families = new Map<string, MetricData>()
  const take = (owner: Owner, metrics: readonly MetricData[]): void => {
    const labels = labelsOf(owner)
    for (const metric of metrics) {
      const family = families.get(metric.descriptor.name) ?? empty(metric)
      for (const { attributes, ...point } of metric.dataPoints) {
        ;(family.dataPoints as unknown[]).push({ ...point, attributes: { ...attributes, ...labels } })
      }
      families.set(metric.descriptor.name, family)
    }
  }
  return {
    add: (totals, now) => take(totals, totalsData(totals.series, now, settings)),
    addActive: (active, now) =>
      take(active, [
        metricData(activeRunsMetric, activeRunsMetric.name, 'cumulative', activePoints(active, now, settings)),
      ]),
    scopes: () => [{ scope, metrics: [...families.values()] }],
  }
}

function empty(metric: MetricData): MetricData {
  return { ...metric, dataPoints: [] }
}

function labelsOf({ key, project }: Owner): Attributes {
  const values = [key.instance, String(key.projectId), project.path, ownerOf({ project }), nameOf({ project })]
  return Object.fromEntries(projectLabels.map((label, index) => [label, values[index] ?? '']))
}
