// Determines whether a job took unusually long: longer than 95 % of the runs of the same job in the last thirty days.
import { remember } from '../../lib/bounded-map.ts'
import { percentileOf } from '../../lib/log-bins.ts'
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { PastDurations } from '../store/ports/reporter.ts'

export type IsSlow = (chunk: Chunk, job: JobSnapshot) => Promise<boolean>

const days = 30
const share = 0.95
/** The minimum number of past runs of a job. If there are fewer, no duration counts as unusual. */
const minRuns = 20
/** The time in ms for which a computed duration is cached. */
const cacheMs = 600_000
/** The maximum number of jobs in the cache. The oldest is evicted first. */
const maxKnown = 10_000

export function createSlowness(past: PastDurations, now: () => Millis): IsSlow {
  const known = new Map<string, { readonly ms: number; readonly until: Millis }>()
  return async ({ key, project }, { name, start, end }) => {
    if (name === undefined || name === '') return false
    const subject = { instance: key.instance, projectId: project.id, job: name }
    const of = JSON.stringify(Object.values(subject))
    const at = now()
    let usual = known.get(of)
    if (usual === undefined || usual.until < at) {
      const bins = await past.of(subject, days)
      const runs = Object.values(bins).reduce((sum, count) => sum + count, 0)
      usual = { ms: runs < minRuns ? Infinity : (percentileOf(bins, share) ?? Infinity), until: at + cacheMs }
      remember(known, of, usual, maxKnown)
    }
    return end - start > usual.ms
  }
}
