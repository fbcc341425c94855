// Counts the commits on a branch that a revision lacks. Each count sends a request. The result is not stored.
import { isWithin } from '../../model/territory.ts'
import { perMinuteForPeople, type PartContext } from '../../daemon/feature.ts'
import { PlatformError, type PlatformClient } from '../../platform/port.ts'
import type { Clock } from '../../lib/clock.ts'

export interface BehindOf {
  readonly projectId: number
  readonly revision: string
  readonly branch: string
}

export type CountedBehind =
  /** The number of commits. `isAll`: false if there are more commits than fit on one page of the response. */
  | { readonly as: 'counted'; readonly commits: number; readonly isAll: boolean }
  /** The commits were not counted. `limited`: no request was sent, because the limit of comparisons per minute has been reached. */
  | { readonly as: 'refused' | 'limited'; readonly what: string; readonly remedy: string }

/**
 * Returns a function that counts commits using the token that covers the project. The token is selected by the project's instance and, if known, its
 * full path. Returns undefined if there are no tokens.
 */
export function countBehindWith({
  tokens,
  clock,
}: Pick<PartContext, 'tokens' | 'clock'>):
  | ((of: BehindOf & { readonly instance: string; readonly path?: string | undefined }) => Promise<CountedBehind>)
  | undefined {
  const counts = tokens().map(({ client, territory, config }) => ({
    territory,
    count: createCountBehind(client, perMinuteForPeople(config), clock),
  }))
  if (counts.length === 0) return undefined
  return async ({ instance, path, ...of }) => {
    const found = counts.find(({ territory }) => isWithin(territory, instance, path))
    if (found !== undefined) return found.count(of)
    return refused('The project is on a platform for which the daemon has no token.', 'Compare the revisions there.')
  }
}

const minute = 60_000
/** Timeout for one count, ms. It is short, because a person is waiting for the result. */
const timeoutMs = 10_000

/** `maxPerMinute`: maximum number of requests per minute. The rest of the API budget is reserved for other requests. */
export function createCountBehind(
  client: Pick<PlatformClient, 'commits'>,
  maxPerMinute: number,
  clock: Pick<Clock, 'now'>,
): (of: BehindOf) => Promise<CountedBehind> {
  let begun: readonly number[] = []
  return async ({ projectId, revision, branch }) => {
    const now = clock.now()
    begun = begun.filter(at => Math.abs(now - at) < minute)
    if (begun.length >= maxPerMinute) {
      const what = `${maxPerMinute} comparisons were made within a minute; the rest of the API budget is reserved for pipelines.`
      return { as: 'limited', what, remedy: 'Reload this page in a minute.' }
    }
    begun = [...begun, now]
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const range = { from: revision, to: branch }
      for await (const { items, next, left } of client.commits(projectId, range, { priority: 'inside', signal }))
        return { as: 'counted', commits: items.length, isAll: next === undefined && left === undefined }
      return { as: 'counted', commits: 0, isAll: true }
    } catch (error) {
      if (error instanceof PlatformError) return refused(error.message, '')
      if (!signal.aborted) throw error
      const what = `The platform did not answer within ${timeoutMs / 1_000} s, or the API budget is used up.`
      return refused(what, 'Try again later, or compare the revisions on the platform.')
    }
  }
}

function refused(what: string, remedy: string): CountedBehind {
  return { as: 'refused', what, remedy }
}
