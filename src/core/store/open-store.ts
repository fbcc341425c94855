// Opens the store: an SQLite file or a PostgreSQL database, depending on its location.
import { openSqlite, openSqliteShared } from './sqlite/open-sqlite.ts'
import type { Secret } from '../../lib/secret.ts'
import type { StorePart } from './ports/store-part.ts'
import type { SharedStore, Store, StoreOptions } from './ports/store.ts'
import type { DatabaseOptions } from './postgres/database.ts'

// The location of a store and the options for opening it.

/** The path of an SQLite file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

type OpenOptions = Pick<StoreOptions, 'maxSize' | 'encode' | 'log' | 'onDamage'> &
  Pick<DatabaseOptions, 'daemon' | 'timeoutMs'> & { readonly parts: readonly StorePart[] }

/** The store's clocks return whole ms, because times computed from them may be stored in integer columns. */
const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** The timeout of a daemon's SQL statements, ms. */
export const statementTimeout = 15_000

/**
 * Opens the store for a daemon, and creates or migrates the schema. An SQLite file then belongs to this process until the store is closed; if it
 * already belongs to another process, nothing is changed. Throws a StoreError that says how to fix the problem.
 */
export async function openOwnStore(location: StoreLocation, options: OpenOptions): Promise<Store> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqlite(location.path, { ...options, ...hostClocks })
}

/**
 * Opens the store for a command, while a daemon may be using it. Creates or migrates the schema only if no daemon is using the store. Throws a
 * StoreError that says how to fix the problem.
 */
export async function openStore(location: StoreLocation, options: OpenOptions): Promise<SharedStore> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  const { maxSize, parts, encode } = options
  return openSqliteShared(location.path, { maxSize, parts, encode, ...hostClocks })
}

/** Opens a PostgreSQL store. The driver is loaded only when it is needed. */
async function openPostgres(url: Secret, options: OpenOptions): Promise<Store> {
  const postgres = await import('./postgres/open-postgres.ts')
  return postgres.openPostgres(url.reveal(), options)
}
