// The metrics of pipelines for `/metrics`: totals of all projects, active runs and gauges, read from the store each time.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { createFamilies } from '../telemetry/metrics/families.ts'
import { goodReadings, knownChanges, type MetricSources } from './metric-sources.ts'
import type { Scope } from '../store/ports/scope.ts'
import { pointsWithin, type GaugeReading } from '../store/ports/gauge-documents.ts'
import { lookAtActive } from './active-runs.ts'
import type { ProjectFacts } from '../model/observation.ts'

export interface ScrapedMetricsOptions extends MetricSources {
  /** What readers see. */
  readonly scope: Scope
}

interface Owned {
  readonly instance?: string | undefined
  readonly key?: { readonly instance: string } | undefined
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

/** Projects read from the store at a time. */
const page = 50

export function createScrapedMetrics(options: ScrapedMetricsOptions): () => Promise<readonly ScopeMetrics[]> {
  const { totals, settings, scope } = options
  const active = lookAtActive(options)
  const isShown = ({ key, instance = key?.instance ?? '', project, group }: Owned): boolean =>
    scope.sees({ instance, path: project?.path ?? project?.name ?? group ?? '' })
  // The result of a query may name a hidden project.
  const shownOf = (reading: GaugeReading): GaugeReading =>
    scope.bounds === 'none' ? reading : { ...reading, points: pointsWithin(scope, reading) }
  return async () => {
    const families = createFamilies(settings)
    let from: number | undefined
    let now = 0
    do {
      const read = await totals.read(page, from)
      for (const one of read.projects) if (isShown(one)) families.add(one, read.now)
      ;({ now, next: from } = read)
    } while (from !== undefined)
    for (const one of await active()) if (isShown(one)) families.addActive(one, now)
    for (const one of await goodReadings(options)) if (isShown(one)) families.addGauges(shownOf(one), now)
    for (const one of await knownChanges(options)) if (isShown(one)) families.addChanges(one, now)
    return families.scopes()
  }
}
