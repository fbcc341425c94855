// Pairs each project or group that the configuration lists below `inventory` with the collector that reads it.
import type { Asking } from '../rest/asking.ts'
import { wholeInstance, type Collector } from './collector.ts'
import type { Thing } from '../port/inventory.ts'

/** `configured`: what the configuration lists below `inventory`, by kind. */
export function thingsOf(
  collectors: readonly Collector[],
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
