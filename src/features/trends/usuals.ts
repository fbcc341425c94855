// The usual durations of pipelines and jobs on the pages, computed from the trends of the last 30 days for the same branch class.
import { countedName } from './counting/counted-chunk.ts'
import { day, type TrendFigures, type TrendReads } from './counting/figures.ts'
import { days, minRuns, minShown, type Usual, type UsualOf, type Usuals } from '../../console/pipelines/usual.ts'
import { plusBins, roundPercentileOf } from '../../lib/log-bins.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Millis } from '../../model/instant.ts'

/** How long usual durations are cached, ms. */
const believedFor = 300_000
/** The maximum number of cached usual durations. The oldest is evicted first. */
const maxKnown = 20_000

type Counted = Awaited<ReturnType<TrendReads['ofJobs']>>

/** Reads usual durations and caches them, because live pages are rendered every second. */
export function createUsuals(trends: Pick<TrendReads, 'ofJobs'>, now: () => Millis): Usuals {
  const known = new Map<string, { readonly figures: Counted; readonly until: Millis }>()
  return {
    of: async (asked, jobs) => {
      const { instance, projectId } = asked
      const at = now()
      const nameOf = (job: string): string => `${projectId} ${instance} ${job}`
      const names = new Map(jobs.map(job => [job, countedName(job)]))
      const missing = [...new Set(names.values())].filter(job => (known.get(nameOf(job))?.until ?? 0) <= at)
      if (missing.length > 0) {
        const query = { step: day, since: at - days * day, until: at + day } as const
        const rows = await trends.ofJobs({ instance, projectId }, missing, query)
        const found = Map.groupBy(rows, row => row.job)
        for (const job of missing) {
          remember(known, nameOf(job), { figures: found.get(job) ?? [], until: at + believedFor }, maxKnown)
        }
      }
      return new Map(
        [...names].flatMap(([job, name]) => {
          const usual = usualAmong(known.get(nameOf(name))?.figures ?? [], asked)
          return usual === undefined ? [] : [[job, usual] as const]
        }),
      )
    },
  }
}

/**
 * Returns the usual durations of pipelines with the same name and branch class if there are enough runs, otherwise of those with the same name.
 * Pipelines with other names are included only if this name has hardly any runs, because the durations of a nightly pipeline say nothing about a
 * quick check.
 */
function usualAmong(figures: Counted, { branchClass: branch, countedAs: pipelineName }: UsualOf): Usual | undefined {
  const ofName = figures.filter(one => one.pipelineName === pipelineName)
  const ofClass = (some: Counted): Counted => some.filter(one => one.branch === branch)
  if (runsOf(ofClass(ofName)) >= minRuns) return { ...usualOf(ofClass(ofName)), branch, pipelineName }
  if (runsOf(ofName) >= minShown) return { ...usualOf(ofName), pipelineName }
  if (runsOf(ofClass(figures)) >= minRuns) return { ...usualOf(ofClass(figures)), branch }
  return figures.length === 0 ? undefined : usualOf(figures)
}

function runsOf(figures: readonly TrendFigures[]): number {
  return figures.reduce((sum, { runs }) => sum + runs, 0)
}

function usualOf(figures: readonly TrendFigures[]): Usual {
  const durations = figures.map(one => one.durations).reduce(plusBins, {})
  const queues = figures.map(one => one.queues).reduce(plusBins, {})
  return {
    days,
    runs: runsOf(figures),
    failed: figures.reduce((sum, { failed }) => sum + failed, 0),
    p50: roundPercentileOf(durations, 0.5),
    p95: roundPercentileOf(durations, 0.95),
    queueP50: roundPercentileOf(queues, 0.5),
    queueP95: roundPercentileOf(queues, 0.95),
  }
}
