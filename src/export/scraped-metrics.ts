// The metrics of pipelines for `/metrics`: totals of all projects, active runs and gauges, read from the store each time.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { createFamilies } from '../telemetry/metrics/families.ts'
import { goodReadings, knownChanges, type MetricSources } from './metric-sources.ts'
import type { GaugePoint, GaugeReading } from '../store/ports/gauge-documents.ts'
import { lookAtActive } from './active-runs.ts'
import type { ProjectFacts } from '../model/observation.ts'

export interface ScrapedMetricsOptions extends MetricSources {
  /** True for the path of a hidden project; undefined: none is hidden. */
  readonly isHidden: ((path: string) => boolean) | undefined
  /** True for a text that names a hidden project, as the result of a query may. */
  readonly namesHidden?: ((text: string) => boolean) | undefined
}

interface Owned {
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
}

/** Projects read from the store at a time. */
const page = 50

export function createScrapedMetrics(options: ScrapedMetricsOptions): () => Promise<readonly ScopeMetrics[]> {
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
