// Where a store is, and the options to open it: all that a thread needs to know before it loads the driver.
import type { Log } from '../lib/log.ts'
import type { Secret } from '../lib/secret.ts'
import type { DeliveryPositions } from './sqlite/deliveries/positions.ts'

/** A file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

export interface OpenOptions {
  /** At this size, in bytes, the store refuses deliveries. */
  readonly maxSize: number
  /** SQLite: shared by the two threads of the daemon, which each open the store. */
  readonly positions?: DeliveryPositions | undefined
  readonly log?: Log | undefined
  /** PostgreSQL: the thread of a daemon that opens the store; undefined for a command. */
  readonly daemon?: 'main' | 'ingress' | undefined
  /** PostgreSQL: the time-out of a statement, ms. */
  readonly timeoutMs?: number | undefined
}

/** Whole ms, because computed times may be stored in integer columns. */
export const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** Time-outs of statements, ms. Shorter for the ingress, as senders of webhooks wait 10 s at most. */
export const timeoutMs = { daemon: 15_000, ingress: 6_000 } as const
