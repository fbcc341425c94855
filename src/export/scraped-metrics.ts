// The metrics of pipelines for `/metrics`: totals of all projects, active runs and gauges, read from the store each time. Totals may be many, so each
// metric is read page by page while it is written. The others are few, and read at once.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { createFamilies, emptyMetric } from '../telemetry/metrics/families.ts'
import { goodReadings, knownChanges, type MetricSources } from './metric-sources.ts'
import { totalsHeads } from '../telemetry/metrics/cumulative.ts'
import type { GaugePoint, GaugeReading } from '../store/ports/gauge-documents.ts'
import { lookAtActive } from './active-runs.ts'
import type { ProjectFacts } from '../model/observation.ts'

export interface ScrapedMetricsOptions extends MetricSources {
  /** True for the path of a hidden project; undefined: none is hidden. */
  readonly isHidden: ((path: string) => boolean) | undefined
  /** True for a text that names a hidden project, as the result of a query may. */
  readonly namesHidden?: ((text: string) => boolean) | undefined
}

/** A metric, and its points piece by piece. */
interface ScrapedMetric {
  /** Without points. */
  readonly metric: MetricData
  readonly pieces: () => AsyncIterable<MetricData>
}

interface Owned {
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

/** Series read from the store at a time. */
const page = 500

export function createScrapedMetrics(options: ScrapedMetricsOptions): () => Promise<readonly ScrapedMetric[]> {
  const { totals, settings, isHidden, namesHidden } = options
  const active = lookAtActive(options)
  const isShown = ({ project, group }: Owned): boolean =>
    isHidden?.(project?.path ?? project?.name ?? group ?? '') !== true
  const isNamed = ({ attributes }: GaugePoint): boolean =>
    Object.values(attributes).some(value => typeof value === 'string' && namesHidden?.(value) === true)
  const shownOf = (reading: GaugeReading): GaugeReading => ({
    ...reading,
    points: reading.points.filter(point => !isNamed(point)),
  })

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
    for (const one of await active()) if (isShown(one)) families.addActive(one, now)
    for (const one of await goodReadings(options)) if (isShown(one)) families.addGauges(shownOf(one), now)
    for (const one of await knownChanges(options)) if (isShown(one)) families.addChanges(one, now)
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
