// The trends feature: how long pipelines and jobs took and waited, and how many failed or were flaky, by hour and day, and the cost of runner time,
// by day. Each snapshot appends its numbers to a table (`counting/counted-chunk.ts`). Every few seconds these are added to the stored trends
// (`counting/fold.ts`, read it first). Pages, usual durations, the job search and other features read the stored trends (`reading/`, `cost/`,
// `port.ts`). Stored trends do not distinguish exact branches or runners; trends by these are computed from the stored runs on request.
import { countedName, countingStep } from './counting/counted-chunk.ts'
import { createFoldLoop } from './counting/fold.ts'
import { feature } from '../../daemon/feature.ts'
import { day } from './counting/figures.ts'
import { plusBins, type Bins } from '../../lib/log-bins.ts'
import { trendsOn } from './reading/sql.ts'
import { trendTables } from './store-part.ts'
import { unbounded } from '../../core/store/sql/reading.ts'
import type { Context } from '../../daemon/context.ts'
import type { PastDurations } from '../../core/store/ports/reporter.ts'

export const trends = feature({
  name: 'trends',
  schema: trendTables,
  lineStep: countingStep,
  pastDurations: pastDurationsOf,
  parts: [{ why: 'trends continue after the next start', create: (_, context) => createFoldLoop(context) }],
  console: async (_, context) => (await import('./console.ts')).trendsConsole(context),
})

/** Reads the durations of finished pipelines and jobs, for the core. */
function pastDurationsOf({ store, clock }: Pick<Context, 'store' | 'clock'>): PastDurations {
  const trends = store.on(sql => trendsOn(unbounded(sql)))
  return {
    of: async ({ job, ...project }, days) => {
      const now = clock.now()
      const subject = job === undefined ? project : { ...project, job: countedName(job) }
      const rows = await trends.series(subject, { step: day, since: now - days * day, until: now + day })
      return rows.reduce<Bins>((sum, { durations }) => plusBins(sum, durations), {})
    },
  }
}
