// What is asked about: one collector and one project or group of the configuration, or one configured query.
import type { Collected, Collector, Owner, Round } from '../platform/inventory/collector.ts'
import type { Millis } from '../model/instant.ts'

export interface Thing {
  readonly kind: string
  /** As configured: a path, an id; of a query its name. */
  readonly of: string
  /** What it must be looked up as; undefined: it belongs to the instance. */
  readonly owner?: { readonly as: Collector['of']; readonly named: string } | undefined
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** Its failures are put off twice as long each time from the first on: the platform blocks what fails again and again. */
  readonly isBlockable?: boolean | undefined
  readonly collect: (round: Omit<Round, 'owner'> & { readonly owner: Owner | undefined }) => Promise<Collected>
}

/** What the configuration lists below `inventory`, by kind. */
export function thingsOf(
  collectors: readonly Collector[],
  configured: Readonly<Record<string, readonly string[] | undefined>>,
): Thing[] {
  return collectors.flatMap(({ kind, of: as, every, atLeast, collect }) =>
    [...new Set(configured[kind] ?? [])].map(of => ({
      ...{ kind, of, every, atLeast, owner: { as, named: of } },
      collect: async ({ owner, ...round }) => {
        if (owner === undefined) throw new Error(`${of} was not found`)
        return collect({ ...round, owner })
      },
    })),
  )
}
