// Counts of active runs. A series that ended is sent with 0 for a day: otherwise backends would go on showing its last value.
import type { ActiveRuns, ProjectKey } from '../model/totals.ts'
import type { ActiveTotals } from '../telemetry/metrics/cumulative.ts'
import type { Millis } from '../model/instant.ts'
import type { RecentRuns } from '../store/ports/recent-runs.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Totals } from '../store/ports/totals.ts'

export interface ActiveSource {
  readonly totals: Pick<Totals, 'active'>
  readonly recentRuns: Pick<Repositories['recentRuns'], 'get' | 'change' | 'now'>
  /** The profile that names the attributes of runs under way. */
  readonly profile: string
  /** Series remembered for a project at most. */
  readonly maxSeries: number
}

type Seen = RecentRuns['seen'][number]

/** How long a series that ended is sent with 0, ms. */
const afterglow = 24 * 3_600_000

/** Active runs by project, for pushed metrics. The series seen are remembered in the store. */
export async function readActive({ totals, recentRuns, profile, maxSeries }: ActiveSource): Promise<ActiveTotals[]> {
  const active = await totals.active()
  const { since, seen } = await recentRuns.change({}, (known, now) => {
    const next = { since: known?.since ?? now - 1, seen: remember(known?.seen ?? [], active, now, maxSeries) }
    return { document: next, result: next }
  })
  return byProject(seen, since, profile)
}

/** Active runs by project, for scraped metrics. Nothing is written: the series seen are remembered in this process only. */
export function lookAtActive({ totals, recentRuns, profile, maxSeries }: ActiveSource): () => Promise<ActiveTotals[]> {
  let memory: RecentRuns | undefined
  return async () => {
    const active = await totals.active()
    const [known, now] = await Promise.all([recentRuns.get({}), recentRuns.now()])
    const before = [...(memory?.seen ?? []), ...(known?.seen ?? [])].sort((a, b) => b.at - a.at)
    const since = known?.since ?? memory?.since ?? now - 1
    memory = { since, seen: remember(before, active, now, maxSeries) }
    return byProject(memory.seen, since, profile)
  }
}

function byProject(seen: readonly Seen[], since: Millis, profile: string): ActiveTotals[] {
  const projects = Map.groupBy(seen, ({ runs }) => nameOf(runs.key))
  return [...projects.values()].flatMap(ofProject => {
    const newest = ofProject.toSorted((a, b) => b.at - a.at)[0]?.runs
    if (newest === undefined) return []
    return [{ key: newest.key, project: newest.project, profile, since, runs: ofProject.map(({ runs }) => runs) }]
  })
}

/** The series that are active now, and those of the last day with a count of 0. */
function remember(seen: readonly Seen[], active: readonly ActiveRuns[], now: Millis, maxSeries: number): Seen[] {
  const found = new Map(active.map(runs => [seriesOf(runs), { runs, at: now }]))
  const counts = new Map<string, number>()
  for (const { key } of active) counts.set(nameOf(key), (counts.get(nameOf(key)) ?? 0) + 1)
  for (const { runs, at } of seen) {
    const project = nameOf(runs.key)
    const count = counts.get(project) ?? 0
    if (found.has(seriesOf(runs)) || now - at > afterglow || count >= maxSeries) continue
    counts.set(project, count + 1)
    found.set(seriesOf(runs), { runs: { ...runs, count: 0 }, at })
  }
  return [...found.values()]
}

function nameOf({ instance, projectId }: ProjectKey): string {
  return JSON.stringify([instance, projectId])
}

function seriesOf({ key, name, status }: ActiveRuns): string {
  return JSON.stringify([key.instance, key.projectId, name, status])
}
