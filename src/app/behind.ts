// How many commits environments are behind, for the pages and `/metrics`: requested from the platform's API.
import { createBehindCounts } from '../enrichment/behind-counts.ts'
import { createCountBehind, type CountBehind as CountOnPlatform } from '../enrichment/count-behind.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Context } from './context.ts'
import type { CountBehind } from '../export/latest-environment.ts'
import type { PagesSources } from '../pages/ports.ts'
import type { PlatformClient } from '../platform/port.ts'

export type BehindClient = Pick<PlatformClient, 'commits' | 'instance'>

/** Share of the API budget, so that people who look at pages do not make other requests wait. */
const share = 1 / 10

/** For scrapes, which get what was counted before. Undefined where the platform cannot be asked. */
export function behindCountsOf(
  { config, clock, log }: Context,
  client: BehindClient | undefined,
): CountBehind | undefined {
  if (client === undefined) return undefined
  const countOf = createBehindCounts({
    count: countOnPlatform(config, client, clock),
    clock,
    onError: err => log.error({ err }, 'the commits that an environment is behind cannot be counted'),
  })
  return ({ instance, ...of }) => (instance === client.instance ? countOf(of) : undefined)
}

function countOnPlatform({ platform }: Config, client: BehindClient, clock: Clock): CountOnPlatform {
  return createCountBehind({ client, clock, maxPerMinute: Math.max(1, Math.floor(platform.budget * share)) })
}

/** Undefined where the platform cannot be asked. */
export function countBehindOf(
  config: Config,
  client: BehindClient | undefined,
  clock: Clock,
): PagesSources['countBehind'] {
  if (client === undefined) return undefined
  const count = countOnPlatform(config, client, clock)
  return async ({ instance, ...of }) =>
    instance === client.instance
      ? count(of)
      : {
          as: 'refused',
          what: 'The project is on a platform for which the daemon has no token.',
          remedy: 'Compare the two there.',
        }
}
