// The metrics of pipelines for `/metrics`: totals of all projects, active runs and gauges, read from the store each time. Totals may be many, so each
// metric is read page by page while it is written. The others are few, and read at once.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { createFamilies, emptyMetric } from '../telemetry/metrics/families.ts'
import { totalsHeads } from '../telemetry/metrics/cumulative.ts'
import type { Scope } from '../store/ports/scope.ts'
import { pointsWithin, type GaugeReading } from '../store/ports/gauge-documents.ts'
import { lookAtActive, goodReadings, type MetricSources } from './active-runs.ts'
import type { ProjectFacts } from '../../model/observation.ts'

export interface ScrapedMetricsOptions extends MetricSources {
  /** What readers see. */
  readonly scope: Scope
}

/** A metric, and its points piece by piece. */
interface ScrapedMetric {
  /** Without points. */
  readonly metric: MetricData
  readonly pieces: () => AsyncIterable<MetricData>
}

interface Owned {
  readonly instance?: string | undefined
  readonly key?: { readonly instance: string } | undefined
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

/** Series read from the store at a time. */
const page = 500

export function createScrapedMetrics(options: ScrapedMetricsOptions): () => Promise<readonly ScrapedMetric[]> {
  const { totals, settings, scope } = options
  const isShown = ({ key, instance = key?.instance ?? '', project, group }: Owned): boolean =>
    scope.sees({ instance, path: project?.path ?? project?.name ?? group ?? '' })
  // The result of a query may name a hidden project.
  const shownOf = (reading: GaugeReading): GaugeReading =>
    scope.bounds === 'none' ? reading : { ...reading, points: pointsWithin(scope, reading) }

  async function* pagesOf(metric: string): AsyncGenerator<MetricData> {
    let from: number | undefined
    do {
      const { projects, now, next } = await totals.ofMetric(metric, page, from)
      const families = createFamilies(settings)
      for (const one of projects) if (isShown(one)) families.add(one, now)
      yield* families.scopes().flatMap(({ metrics }) => metrics)
      from = next
    } while (from !== undefined)
  }

  async function others(): Promise<readonly MetricData[]> {
    const families = createFamilies(settings)
    const now = await options.recentRuns.now()
    for (const one of await lookAtActive(options)) if (isShown(one)) families.addActive(one, now)
    for (const one of await goodReadings(options)) if (isShown(one)) families.addGauges(shownOf(one), now)
    for (const one of (await options.others?.(now)) ?? []) if (isShown(one)) families.addMetrics(one)
    return families.scopes().flatMap(({ metrics }) => metrics)
  }

  return async () => [
    ...totalsHeads(await totals.metrics(), settings).map(one => ({
      metric: emptyMetric(one),
      pieces: () => pagesOf(one.name),
    })),
    ...(await others()).map(metric => ({
      metric,
      pieces: async function* () {
        yield metric
      },
    })),
  ]
}
