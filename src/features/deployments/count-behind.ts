// Counts how many commits a branch has that a revision has not: with a request for each person who looks, which is stored nowhere; or for readers that
// do not wait, such as scrapes, with what was counted before.
import { PlatformError, type PlatformClient } from '../../platform/port.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Clock } from '../../lib/clock.ts'

export interface CountBehindOptions {
  readonly client: Pick<PlatformClient, 'commits'>
  /** Limit within any minute: the rest of the API budget is for other requests. */
  readonly maxPerMinute: number
  /** How long a reader waits at most, ms. */
  readonly timeoutMs?: number | undefined
  readonly clock: Pick<Clock, 'now'>
}

export interface BehindOf {
  readonly projectId: number
  readonly revision: string
  readonly branch: string
}

export type CountedBehind =
  /** `isAll`: false if there are more commits than one page of the answer has. */
  | { readonly as: 'counted'; readonly commits: number; readonly isAll: boolean }
  | { readonly as: 'refused'; readonly what: string; readonly remedy: string }

export type CountBehind = (of: BehindOf) => Promise<CountedBehind>

const minute = 60_000

export function createCountBehind({
  client,
  maxPerMinute,
  timeoutMs = 10_000,
  clock,
}: CountBehindOptions): CountBehind {
  let begun: readonly number[] = []
  return async ({ projectId, revision, branch }) => {
    const now = clock.now()
    begun = begun.filter(at => Math.abs(now - at) < minute)
    if (begun.length >= maxPerMinute) {
      const what = `${maxPerMinute} comparisons were made within a minute; the rest of the API budget is reserved for pipelines.`
      return refused(what, 'Reload this page in a minute.')
    }
    begun = [...begun, now]
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      for await (const { items, next, left } of client.commits(
        projectId,
        { from: revision, to: branch },
        { priority: 'inside', signal },
      ))
        return { as: 'counted', commits: items.length, isAll: next === undefined && left === undefined }
      return { as: 'counted', commits: 0, isAll: true }
    } catch (error) {
      if (error instanceof PlatformError) return refused(error.message, '')
      if (!signal.aborted) throw error
      const what = `The platform did not answer within ${timeoutMs / 1_000} s, or the API budget is used up.`
      return refused(what, 'Try again later, or compare the two on the platform.')
    }
  }
}

function refused(what: string, remedy: string): CountedBehind {
  return { as: 'refused', what, remedy }
}

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
