// Where a store is, and the options to open it: all that a thread needs to know before it loads the driver.
import type { DatabaseOptions } from './postgres/database.ts'
import type { Secret } from '../lib/secret.ts'
import type { StoreOptions } from './ports/store.ts'
import type { DeliveryPositions } from './sqlite/deliveries/positions.ts'

/** A file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

export interface OpenOptions
  extends Pick<StoreOptions, 'maxSize' | 'log'>, Pick<DatabaseOptions, 'daemon' | 'timeoutMs'> {
  /** SQLite: shared by the two threads of the daemon, which each open the store. */
  readonly positions?: DeliveryPositions | undefined
}

/** Whole ms, because computed times may be stored in integer columns. */
export const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** Time-outs of statements, ms. Shorter for the ingress, as senders of webhooks wait 10 s at most. */
export const timeoutMs = { daemon: 15_000, ingress: 6_000 } as const
