// The metrics of pipelines for `/metrics`: totals of all projects, active runs and gauges, read from the store each time.
import type { ByInstance } from '../model/by-instance.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { createFamilies } from '../telemetry/metrics/families.ts'
import { goodReadings } from './gauge-readings.ts'
import type { GaugePoint, GaugeReading } from '../store/ports/gauge-documents.ts'
import { knownChanges } from './known-changes.ts'
import { lookAtActive, type ActiveSource } from './active-runs.ts'
import type { Changes } from '../store/ports/changes.ts'
import type { ProjectFacts } from '../model/observation.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { Totals } from '../store/ports/totals.ts'

export interface ScrapedMetricsOptions {
  readonly totals: Pick<Totals, 'read' | 'active' | 'activeJobs'>
  readonly recentRuns: ActiveSource['recentRuns']
  readonly gaugeReadings: Pick<Repositories['gaugeReadings'], 'all' | 'now'>
  /** Undefined: the number of changes is not exported. */
  readonly changes?: Pick<Changes, 'states' | 'open'> | undefined
  readonly profile: ByInstance<string>
  readonly settings: TelemetrySettings
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
  const { totals, recentRuns, gaugeReadings, changes, profile, settings, isHidden, namesHidden } = options
  const { maxSeries } = settings
  const active = lookAtActive({ totals, recentRuns, profile, maxSeries })
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
    for (const one of await goodReadings(gaugeReadings)) if (isShown(one)) families.addGauges(shownOf(one), now)
    for (const one of await knownChanges(changes, profile)) if (isShown(one)) families.addChanges(one, now)
    return families.scopes()
  }
}
