// What exported and scraped metrics of pipelines are read from; among it the last readings of gauges, and the known changes of each project.
import { isGood, type GaugeReading } from '../store/ports/gauge-documents.ts'
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import type { Changes } from '../store/ports/changes.ts'
import type { KnownChanges } from '../telemetry/metrics/change-gauges.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { Totals } from '../store/ports/totals.ts'

export interface MetricSources {
  readonly totals: Pick<Totals, 'read' | 'metrics' | 'ofMetric' | 'active' | 'activeJobs'>
  readonly recentRuns: Pick<Repositories['recentRuns'], 'get' | 'change' | 'now'>
  readonly gaugeReadings: Pick<Repositories['gaugeReadings'], 'all' | 'now'>
  /** Undefined: the number of changes is not exported. */
  readonly changes?: Pick<Changes, 'states' | 'open'> | undefined
  /** The profile that names the attributes of what has no snapshot. */
  readonly profile: ByInstance<string>
  readonly settings: TelemetrySettings
}

/** The last readings of the inventory's gauges, without outdated ones. */
export async function goodReadings({
  gaugeReadings: readings,
}: Pick<MetricSources, 'gaugeReadings'>): Promise<readonly GaugeReading[]> {
  const [all, now] = await Promise.all([readings.all(), readings.now()])
  return all.filter(one => isGood(one, now))
}

/** The age of so many open changes of a project is exported, the oldest. */
const maxOpen = 10_000

export async function knownChanges({
  changes,
  profile,
}: Pick<MetricSources, 'changes' | 'profile'>): Promise<KnownChanges[]> {
  const known: KnownChanges[] = []
  for (const { instance, ...one } of (await changes?.states()) ?? []) {
    const key = { instance, projectId: one.project.id }
    known.push({ ...one, key, profile: ofInstance(profile, instance), open: (await changes?.open(key, maxOpen)) ?? [] })
  }
  return known
}
