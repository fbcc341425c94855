// What is asked about: one collector and one project or group of the configuration, or one configured query.
import type { Collected, Collector, Owner, Round } from '../platform/inventory/collector.ts'
import type { Millis } from '../model/instant.ts'

export interface Thing {
  readonly kind: string
  /** As configured: a path or an id, or the name of a query. */
  readonly of: string
  /** How to look up its owner; undefined: it belongs to the instance. */
  readonly owner?: { readonly as: Collector['of']; readonly named: string } | undefined
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** The pause doubles from the first failure on, because the platform blocks queries that fail repeatedly. */
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
