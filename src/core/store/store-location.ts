// Where a store is, and the options to open it: all that a thread needs to know before it loads the driver.
import type { DatabaseOptions } from './postgres/database.ts'
import type { Secret } from '../../lib/secret.ts'
import type { StoreOptions } from './ports/store.ts'

/** A file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

export type OpenOptions = Pick<StoreOptions, 'maxSize' | 'log' | 'onDamage'> &
  Pick<DatabaseOptions, 'daemon' | 'timeoutMs'>

/** Whole ms, because computed times may be stored in integer columns. */
export const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** The time-out of a daemon's statements, ms. */
export const statementTimeout = 15_000
