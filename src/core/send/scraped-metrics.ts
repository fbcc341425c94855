// The pipeline metrics for `/metrics`: totals of all projects, active runs and gauges, read from the store for each scrape. There may be many totals,
// so each metric is read page by page while it is written. The other metrics are few, and are read in one go.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { totalsData, totalsHeads } from '../telemetry/metrics/cumulative.ts'
import { emptyMetric, sdkMetrics, type OwnedMetrics } from '../telemetry/metrics/families.ts'
import type { Scope } from '../store/ports/scope.ts'
import { lookAtActive, measuredNow, type MetricSources } from './active-runs.ts'

export interface ScrapedMetricsOptions extends MetricSources {
  readonly scope: Scope
}

/** A metric whose points are read page by page. */
interface ScrapedMetric {
  /** The metric's name, unit and description, without its points. */
  readonly metric: MetricData
  readonly pieces: () => AsyncIterable<MetricData>
}

/** The number of series that are read from the store at a time. */
const page = 500

export function createScrapedMetrics(options: ScrapedMetricsOptions): () => Promise<readonly ScrapedMetric[]> {
  const { totals, settings, scope } = options
  const isShown = ({ owner: { instance, project, group } }: OwnedMetrics): boolean =>
    scope.sees({ instance, path: project?.path ?? project?.name ?? group ?? '' })

  async function* pagesOf(metric: string): AsyncGenerator<MetricData> {
    let from: number | undefined
    do {
      const { projects, now, next } = await totals.ofMetric(metric, page, from)
      const owned = projects.map(({ key, project, series }) => ({
        owner: { instance: key.instance, project },
        metrics: totalsData(series, now, settings),
      }))
      yield* sdkMetrics(owned.filter(isShown))
      from = next
    } while (from !== undefined)
  }

  async function others(): Promise<readonly MetricData[]> {
    const now = await options.recentRuns.now()
    return sdkMetrics((await measuredNow(options, await lookAtActive(options), now, scope)).filter(isShown))
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
