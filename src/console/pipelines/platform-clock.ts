// The current time on each platform's clock: our clock, and how far the platform's is ahead of it. Running pipelines and jobs are measured by
// it, because their start is the platform's time.
import { sharedAnswer } from '../../lib/shared-answer.ts'
import type { Millis } from '../../model/instant.ts'
import type { Views } from '../../core/store/ports/views.ts'

/** The current time on the clock of an instance. */
export type PlatformNow = (instance: string) => Millis

/** How long a reading of the leads is cached, ms. */
const believedFor = 10_000
/** ms. A time further ahead is a wrong time, not a wrong clock. */
const maxLead = 3_600_000

/**
 * `offsetOf`: how far an instance's clock is ahead of ours, as its API proves; it may be negative. If it is unknown, a pipeline that we received
 * before it was created proves that the platform's clock is ahead. No delivery proves that it is behind, because it may also be late. So without
 * the API such a clock counts as ours, and no late event ever shortens an elapsed time.
 */
export function createPlatformClocks(
  views: Pick<Views, 'newestFirstSeen'>,
  offsetOf: (instance: string) => number | undefined,
  now: () => Millis,
): () => Promise<PlatformNow> {
  const leads = sharedAnswer(believedFor, now, async () => leadsOf(await views.newestFirstSeen()))
  return async () => {
    const known = await leads()
    const at = now()
    return instance => at + (offsetOf(instance) ?? known.get(instance) ?? 0)
  }
}

function leadsOf(seen: Awaited<ReturnType<Views['newestFirstSeen']>>): ReadonlyMap<string, number> {
  const leads = new Map<string, number>()
  for (const { instance, createdAt, firstSeenAt } of seen) {
    const lead = createdAt - firstSeenAt
    if (lead > (leads.get(instance) ?? 0) && lead <= maxLead) leads.set(instance, lead)
  }
  return leads
}
