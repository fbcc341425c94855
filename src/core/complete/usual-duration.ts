// Whether a job took unusually long: longer than 95 of 100 runs of the same job in the last thirty days.
import { remember } from '../../lib/bounded-map.ts'
import { day, type TrendViews } from '../store/ports/trends.ts'
import { percentileOf, plusBins, type Bins } from '../../lib/log-bins.ts'
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'

export type IsSlow = (chunk: Chunk, job: JobSnapshot) => Promise<boolean>

const window = 30 * day
const share = 0.95
/** With fewer runs nothing counts as unusual. */
const minRuns = 20
/** How long a computed value is reused, ms. */
const believedFor = 600_000
/** Jobs remembered; the oldest goes first. */
const maxKnown = 10_000

export function createSlowness(trends: Pick<TrendViews, 'series'>, now: () => Millis): IsSlow {
  const known = new Map<string, { readonly ms: number; readonly until: Millis }>()
  return async ({ key, project }, { name, start, end }) => {
    if (name === undefined || name === '') return false
    const subject = { instance: key.instance, projectId: project.id, job: name.slice(0, 255) }
    const of = JSON.stringify(Object.values(subject))
    const at = now()
    let usual = known.get(of)
    if (usual === undefined || usual.until < at) {
      const rows = await trends.series(subject, { step: day, since: at - window, until: at + day })
      const runs = rows.reduce((sum, row) => sum + row.runs, 0)
      const bins = rows.reduce<Bins>((sum, { durations }) => plusBins(sum, durations), {})
      usual = { ms: runs < minRuns ? Infinity : (percentileOf(bins, share) ?? Infinity), until: at + believedFor }
      remember(known, of, usual, maxKnown)
    }
    return end - start > usual.ms
  }
}
