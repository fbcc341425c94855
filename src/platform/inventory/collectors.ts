// Lists all collectors, and pairs each with what the configuration lists for it. To add one, write its file and add it here.
import { agents } from './agents.ts'
import { dependencies } from './dependencies.ts'
import { dependencyFirewall } from './dependency-firewall.ts'
import { featureFlags } from './feature-flags.ts'
import { groups } from './groups.ts'
import { includes } from './includes.ts'
import { milestones } from './milestones.ts'
import { refs } from './refs.ts'
import { repositories } from './repositories.ts'
import { runners } from './runners.ts'
import { schedules } from './schedules.ts'
import { wholeInstance, type Collector } from './collector.ts'
import type { Asking } from '../rest/api.ts'
import type { Thing } from '../port/inventory.ts'

export const collectors: readonly Collector[] = [
  agents,
  featureFlags,
  groups,
  dependencies,
  dependencyFirewall,
  milestones,
  runners,
  schedules,
  repositories,
  refs,
  includes,
]

/** Each project or group with the collector that reads it. `configured`: what the configuration lists below `inventory`, by kind. */
export function thingsOf(
  configured: Readonly<Record<string, readonly string[] | undefined>>,
  asking: (signal: AbortSignal) => Asking,
): Thing[] {
  return collectors.flatMap(({ kind, of: as, every, atLeast, hasInstance = false, collect }) =>
    [...new Set(configured[kind] ?? [])].map((of): Thing => {
      const isInstance = hasInstance && of === wholeInstance
      return {
        ...{ kind, of, every, atLeast, owner: isInstance ? undefined : { as, named: of } },
        collect: async ({ owner = isInstance ? {} : undefined, now, memory, signal }) => {
          if (owner === undefined) throw new Error(`${of} was not found`)
          return collect({ ask: asking(signal), owner, now, memory })
        },
      }
    }),
  )
}
