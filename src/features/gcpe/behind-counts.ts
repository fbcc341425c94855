// How many commits environments are behind, for scrapes: they do not wait, and get what was counted before.
import { createCountBehind, type CountBehind as CountOnPlatform } from '../deployments/port.ts'
import { isWithin } from '../../model/territory.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Clock } from '../../lib/clock.ts'
import type { PartContext } from '../../daemon/feature.ts'

/** How many commits `to` has that `from` has not; undefined if that is not known (yet). */
export type CountBehind = (of: BehindOf) => number | undefined

interface BehindOf extends Revisions {
  readonly instance: string
  /** The full path of the project, if it is known. */
  readonly path?: string | undefined
}

/** With the token that is for the project. */
export function behindCountsOf({ tokens, clock, log }: PartContext): CountBehind {
  const counts = tokens().map(({ client, config, territory }) => {
    // A share of the API budget, so that other requests do not wait for these.
    const maxPerMinute = Math.max(1, Math.floor(config.platform.budget * 0.1))
    const onError = (err: unknown): void =>
      log.error({ err }, 'the commits that an environment is behind cannot be counted')
    const count = createCountBehind({ client, maxPerMinute, clock })
    return { territory, countOf: createBehindCounts({ count, clock, onError }) }
  })
  return ({ instance, path, ...of }) => counts.find(({ territory }) => isWithin(territory, instance, path))?.countOf(of)
}

export interface BehindCountsOptions {
  readonly count: CountOnPlatform
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

/**
 * Remembers the counts, and asks for what is unknown, one after the other. Two revisions never change, so each pair is requested once. Answers
 * undefined while it is unknown.
 */
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
