// How many commits environments are behind, for the pages: requested from the platform's API.
import { createCountBehind } from '../enrichment/count-behind.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { PagesSources } from '../pages/ports.ts'
import type { PlatformClient } from '../platform/port.ts'

export type BehindClient = Pick<PlatformClient, 'commits' | 'instance'>

/** Share of the API budget, so that people who look at pages do not make other requests wait. */
const share = 1 / 10

/** Undefined where the platform cannot be asked. */
export function countBehindOf(
  { platform }: Config,
  client: BehindClient | undefined,
  clock: Clock,
): PagesSources['countBehind'] {
  if (client === undefined) return undefined
  const count = createCountBehind({ client, clock, maxPerMinute: Math.max(1, Math.floor(platform.budget * share)) })
  return async ({ instance, ...of }) =>
    instance === client.instance
      ? count(of)
      : {
          as: 'refused',
          what: 'The project is on a platform for which the daemon has no token.',
          remedy: 'Compare the two there.',
        }
}
