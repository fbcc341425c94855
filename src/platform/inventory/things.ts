// Pairs each project or group that the configuration lists below `inventory` with the collector that reads it.
import type { Asking } from '../rest/asking.ts'
import type { Collector } from './collector.ts'
import type { Thing } from '../port/inventory.ts'

/** `configured`: what the configuration lists below `inventory`, by kind. */
export function thingsOf(
  collectors: readonly Collector[],
  configured: Readonly<Record<string, readonly string[] | undefined>>,
  asking: (signal: AbortSignal) => Asking,
): Thing[] {
  return collectors.flatMap(({ kind, of: as, every, atLeast, collect }) =>
    [...new Set(configured[kind] ?? [])].map((of): Thing => ({
      ...{ kind, of, every, atLeast, owner: { as, named: of } },
      collect: async ({ owner, now, memory, signal }) => {
        if (owner === undefined) throw new Error(`${of} was not found`)
        return collect({ ask: asking(signal), owner, now, memory })
      },
    })),
  )
}
