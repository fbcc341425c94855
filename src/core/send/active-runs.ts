// The current metrics, including the counts of active runs and active jobs. When a series of these counts has ended, it is sent with 0 for a day;
// otherwise backends would continue to show its last value.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { isGood, pointsWithin, type GaugeReading, type RecentRuns } from '../store/ports/gauge-documents.ts'
import { tagSetOf, type ActiveJob, type ActiveJobs, type ActiveRuns, type ProjectKey } from '../../model/totals.ts'
import { activeData, type ActiveTotals, type ProjectMetrics } from '../telemetry/metrics/cumulative.ts'
import { gaugesData } from '../telemetry/metrics/gauges.ts'
import type { OwnedMetrics } from '../telemetry/metrics/families.ts'
import type { Scope } from '../store/ports/scope.ts'
import type { Millis } from '../../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { Totals } from '../store/ports/totals.ts'

// The sources of the pipeline metrics that are exported and scraped: totals, counts of active runs, the last gauge readings, and the metrics that
// features measure for projects.
export interface MetricSources {
  readonly totals: Pick<Totals, 'read' | 'metrics' | 'ofMetric' | 'active' | 'activeJobs'>
  readonly recentRuns: Pick<Repositories['recentRuns'], 'get' | 'change' | 'now'>
  readonly gaugeReadings: Pick<Repositories['gaugeReadings'], 'all' | 'now'>
  /** Returns the metrics that features measure for projects. `now` is the time of their points. */
  readonly others?: ((now: Millis) => Promise<readonly ProjectMetrics[]>) | undefined
  /** The profile that names the attributes of metrics that do not come from a snapshot. */
  readonly profile: ByInstance<string>
  readonly settings: TelemetrySettings
}

/**
 * Returns the current metrics by project, group or instance: active runs and jobs, the last readings of the inventory's gauges, and feature metrics.
 * `scope` limits them to the projects that the reader may see, because the points of a configured query may name other projects.
 */
export async function measuredNow(
  { gaugeReadings, others, settings }: MetricSources,
  active: readonly ActiveTotals[],
  now: Millis,
  scope?: Scope,
): Promise<OwnedMetrics<Measured>[]> {
  const [readings, readAt] = await Promise.all([gaugeReadings.all(), gaugeReadings.now()])
  const good = readings.filter(one => isGood(one, readAt))
  const shown = scope === undefined || scope.bounds === 'none' ? good : good.map(one => within(scope, one))
  return [
    ...active.map(one => ({ owner: ownerOf(one), metrics: activeData(one, now, settings) })),
    ...shown.map(one => ({ owner: one, metrics: gaugesData(one, now, settings) })),
    ...((await others?.(now)) ?? []).map(one => ({ owner: ownerOf(one), metrics: one.metrics })),
  ]
}

type Measured = Pick<GaugeReading, 'instance' | 'profile' | 'project' | 'group'>

function ownerOf({ key, project, profile }: Pick<ProjectMetrics, 'key' | 'project' | 'profile'>): Measured {
  return { instance: key.instance, project, profile }
}

function within(scope: Scope, reading: GaugeReading): GaugeReading {
  return { ...reading, points: pointsWithin(scope, reading) }
}

type ActiveSources = Pick<MetricSources, 'recentRuns' | 'profile'> & {
  readonly totals: Pick<MetricSources['totals'], 'active' | 'activeJobs'>
  readonly settings: Pick<MetricSources['settings'], 'maxSeries'>
}

/** A series of active runs or jobs, and when it last had an active run or job. */
interface Seen<T> {
  readonly of: T
  readonly at: Millis
}
type Counted = Pick<ActiveRuns, 'key' | 'project' | 'count'>

/** The time in ms for which a series that has ended is still sent with 0. */
const sendZeroForMs = 24 * 3_600_000

/** Returns the active runs and jobs by project, for pushed metrics. The series that were sent are recorded in the store. */
export async function readActive(source: ActiveSources): Promise<ActiveTotals[]> {
  const active = await activeNow(source)
  const next = await source.recentRuns.change({}, (known, now) => {
    const document = remember(known, active, now, source.settings.maxSeries)
    return { document, result: document }
  })
  return byProject(next, source.profile)
}

/**
 * Returns the active runs and jobs for a metrics scrape. A scrape stores nothing, so series that began and ended since metrics were last pushed are
 * missing.
 */
export async function lookAtActive(source: ActiveSources): Promise<ActiveTotals[]> {
  const { recentRuns, profile, settings } = source
  const active = await activeNow(source)
  const [known, now] = await Promise.all([recentRuns.get({}), recentRuns.now()])
  return byProject(remember(known, active, now, settings.maxSeries), profile)
}

interface ActiveNow {
  readonly runs: readonly ActiveRuns[]
  readonly jobs: ActiveJobCounts
}

async function activeNow({ totals }: ActiveSources): Promise<ActiveNow> {
  const jobs = createActiveJobs()
  const runs = await totals.active()
  await totals.activeJobs(page => jobs.add(page))
  return { runs, jobs }
}

function remember(
  known: RecentRuns | undefined,
  { runs, jobs }: ActiveNow,
  now: Millis,
  maxSeries: number,
): RecentRuns {
  const counted = jobs.since(known?.pending ?? [])
  const seenRuns = (known?.seen ?? []).map(({ runs: of, at }) => ({ of, at }))
  const seenJobs = (known?.jobs ?? []).map(({ jobs: of, at }) => ({ of, at }))
  return {
    since: known?.since ?? now - 1,
    seen: recent(seenRuns, runs, runSeries, now, maxSeries).map(({ of, at }) => ({ runs: of, at })),
    jobs: recent(seenJobs, counted.series, jobSeries, now, maxSeries).map(({ of, at }) => ({ jobs: of, at })),
    pending: [...counted.pending],
  }
}

function byProject({ seen, jobs = [], since }: RecentRuns, profile: ByInstance<string>): ActiveTotals[] {
  const runsOf = Map.groupBy(seen, ({ runs }) => nameOf(runs.key))
  const jobsOf = Map.groupBy(jobs, ({ jobs: of }) => nameOf(of.key))
  return [...new Set([...runsOf.keys(), ...jobsOf.keys()])].flatMap(name => {
    const ofRuns = runsOf.get(name) ?? []
    const ofJobs = jobsOf.get(name) ?? []
    const all: Seen<Counted>[] = [
      ...ofRuns.map(({ runs, at }) => ({ of: runs, at })),
      ...ofJobs.map(({ jobs: of, at }) => ({ of, at })),
    ]
    const newest = all.toSorted((a, b) => b.at - a.at)[0]?.of
    if (newest === undefined) return []
    const { key, project } = newest
    return [
      {
        key,
        project,
        profile: ofInstance(profile, key.instance),
        since,
        runs: ofRuns.map(({ runs }) => runs),
        jobs: ofJobs.map(({ jobs: of }) => of),
      },
    ]
  })
}

/** Returns the series that are active now, and, with a count of 0, the series that were active within the last day. */
function recent<T extends Counted>(
  seen: readonly Seen<T>[],
  active: readonly T[],
  seriesOf: (one: T) => string,
  now: Millis,
  maxSeries: number,
): Seen<T>[] {
  const found = new Map(active.map(of => [seriesOf(of), { of, at: now }]))
  const counts = new Map<string, number>()
  for (const { key } of active) counts.set(nameOf(key), (counts.get(nameOf(key)) ?? 0) + 1)
  for (const { of, at } of seen) {
    const project = nameOf(of.key)
    const count = counts.get(project) ?? 0
    if (found.has(seriesOf(of)) || now - at > sendZeroForMs || count >= maxSeries) continue
    counts.set(project, count + 1)
    found.set(seriesOf(of), { of: { ...of, count: 0, oldest: undefined }, at })
  }
  return [...found.values()]
}

function nameOf({ instance, projectId }: ProjectKey): string {
  return JSON.stringify([instance, projectId])
}

function runSeries({ key, name, status }: ActiveRuns): string {
  return JSON.stringify([key.instance, key.projectId, name, status])
}

function jobSeries({ key, state, workerType, tagSet }: ActiveJobs): string {
  return JSON.stringify([key.instance, key.projectId, state, workerType, tagSet])
}

// Active jobs are counted by project, state, runner type and tags. Each count comes with the time at which its longest-waiting job began to wait. No
// source reports that time. The last observation of a run gives an upper bound for its waiting jobs, and the earliest bound so far is stored for the
// jobs that have waited longest.

/** The maximum number of waiting jobs that are stored. */
const maxPending = 1_000

interface Pending {
  readonly instance: string
  readonly job: number
  readonly since: Millis
}

interface ActiveJobCounts {
  add(page: readonly ActiveJob[]): void
  /** Returns the series of active jobs. `known` contains the waiting jobs stored so far, and `pending` those to store now. */
  since(known: readonly Pending[]): { readonly series: readonly ActiveJobs[]; readonly pending: readonly Pending[] }
}

type Series = Omit<ActiveJobs, 'oldest'> & { readonly waiting: Pending[] }

function createActiveJobs(): ActiveJobCounts {
  const counts = new Map<string, Series>()
  return {
    add: page => {
      for (const { key, project, id, state, workerType, tags, pendingSince } of page) {
        const tagSet = tagSetOf(tags)
        const name = JSON.stringify([key, state, workerType, tagSet])
        const { count, waiting } = counts.get(name) ?? { count: 0, waiting: [] as Pending[] }
        if (pendingSince !== undefined) waiting.push({ instance: key.instance, job: id, since: pendingSince })
        counts.set(name, { key, project, state, workerType, tagSet, count: count + 1, waiting })
      }
    },
    since: known => {
      const earliest = new Map<string, Millis>()
      for (const one of known)
        earliest.set(pendingName(one), Math.min(one.since, earliest.get(pendingName(one)) ?? Infinity))
      const pending: Pending[] = []
      const series = [...counts.values()].map(({ waiting, ...own }): ActiveJobs => {
        let oldest: Millis | undefined
        for (const one of waiting) {
          const since = Math.min(one.since, earliest.get(pendingName(one)) ?? Infinity)
          pending.push({ ...one, since })
          oldest = Math.min(since, oldest ?? Infinity)
        }
        return { ...own, oldest }
      })
      return { series, pending: pending.sort((a, b) => a.since - b.since).slice(0, maxPending) }
    },
  }
}

function pendingName({ instance, job }: Pending): string {
  return `${instance} ${job}`
}
