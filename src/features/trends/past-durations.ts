// How long finished pipelines and jobs took, for the line.
import { countedName } from './counting/counted-chunk.ts'
import { day } from './counting/figures.ts'
import { plusBins, type Bins } from '../../lib/log-bins.ts'
import { trendsOn } from './reading/sql.ts'
import { unbounded } from '../../core/store/sql/reading.ts'
import type { Context } from '../../daemon/context.ts'
import type { PastDurations } from '../../core/store/ports/reporter.ts'

export function pastDurationsOf({ store, clock }: Pick<Context, 'store' | 'clock'>): PastDurations {
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
