// Counts how many commits each environment is behind, for scrapes. A scrape does not wait for a count; it returns the cached one.
import { countBehindWith } from '../deployments/port.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Clock } from '../../lib/clock.ts'
import type { PartContext } from '../../daemon/feature.ts'

/** Returns how many commits `to` has that `from` does not have, or undefined if the number is not known yet or cannot be known. */
export type CountBehind = (of: Revisions) => number | undefined

interface Revisions {
  readonly instance: string
  /** The full path of the project, if it is known. */
  readonly path?: string | undefined
  readonly projectId: number
  readonly from: string
  readonly to: string
}

const maxRemembered = 10_000
/** The maximum number of revision pairs queued for a request. Further pairs are requested by later scrapes. */
const maxWaiting = 1_000
/** The pause before a rejected request is retried, ms. */
const retryAfter = 10 * 60_000

/** Returns undefined if no platform token is configured. */
export function behindCountsOf(
  context: Parameters<typeof countBehindWith>[0] & Pick<PartContext, 'clock' | 'log'>,
): CountBehind | undefined {
  const { clock, log } = context
  const count = countBehindWith(context)
  return count && createBehindCounts(count, clock, err => log.error({ err }, 'commits cannot be counted'))
}

/** Caches the counts, and requests unknown counts one at a time. The count for two revisions never changes, so each pair is requested once. */
export function createBehindCounts(
  count: NonNullable<ReturnType<typeof countBehindWith>>,
  clock: Pick<Clock, 'now'>,
  onError: (error: unknown) => void,
): CountBehind {
  const known = new Map<string, number>()
  const refused = new Map<string, number>()
  const waiting = new Map<string, Revisions>()
  let isAsking = false

  async function ask(): Promise<void> {
    for (const [key, pair] of waiting) {
      const { from: revision, to: branch, ...of } = pair
      const answer = await count({ ...of, revision, branch })
      waiting.delete(key)
      if (answer.as === 'counted') remember(known, key, answer.commits, maxRemembered)
      // If Pipespan's own limit prevented the request, the refusal is not cached, so the next scrape requests the pair again.
      else if (answer.as === 'refused') remember(refused, key, clock.now(), maxRemembered)
    }
  }

  return of => {
    const key = JSON.stringify([of.instance, of.projectId, of.from, of.to])
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
