// Remembers how many commits a revision has that another has not, and asks for what is unknown, one after the other: for readers that do not wait,
// such as scrapes. Two revisions never change, so each pair is requested once.
import { remember } from '../lib/bounded-map.ts'
import type { Clock } from '../lib/clock.ts'
import type { CountBehind } from './count-behind.ts'

export interface BehindCountsOptions {
  readonly count: CountBehind
  readonly clock: Pick<Clock, 'now'>
  readonly onError: (error: unknown) => void
}

export interface Revisions {
  readonly projectId: number
  readonly from: string
  readonly to: string
}

const maxRemembered = 10_000
/** Pairs that wait for their request; further ones are asked for again. */
const maxWaiting = 1_000
/** When a refused request is repeated, ms. */
const retryAfter = 10 * 60_000

/** Undefined while it is unknown. */
export function createBehindCounts({
  count,
  clock,
  onError,
}: BehindCountsOptions): (of: Revisions) => number | undefined {
  const known = new Map<string, number>()
  const refused = new Map<string, number>()
  const waiting = new Map<string, Revisions>()
  let isAsking = false

  async function ask(): Promise<void> {
    for (const [key, { projectId, from, to }] of waiting) {
      const answer = await count({ projectId, revision: from, branch: to })
      waiting.delete(key)
      if (answer.as === 'counted') remember(known, key, answer.commits, maxRemembered)
      else {
        remember(refused, key, clock.now(), maxRemembered)
        // The others would probably be refused too; the next scrape asks for them.
        waiting.clear()
      }
    }
  }

  return of => {
    const key = JSON.stringify([of.projectId, of.from, of.to])
    const commits = known.get(key)
    const isDue = Math.abs(clock.now() - (refused.get(key) ?? -Infinity)) >= retryAfter
    if (commits !== undefined || !isDue) return commits
    if (waiting.size < maxWaiting) waiting.set(key, of)
    if (!isAsking) {
      isAsking = true
      void ask()
        .catch((error: unknown) => {
          waiting.clear()
          onError(error)
        })
        .finally(() => {
          isAsking = false
        })
    }
    return undefined
  }
}
