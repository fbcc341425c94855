// Opens the store: chooses the database by its location.
import { hostClocks, type OpenOptions, type StoreLocation } from './store-location.ts'
import { openSqlite, openSqliteShared } from './sqlite/open-sqlite.ts'
import type { Secret } from '../../lib/secret.ts'
import type { SharedStore, Store } from './ports/store.ts'

/**
 * Opens the store to serve it: creates or migrates the schema. A SQLite file then belongs to this process until it is closed; if it
 * belongs to another process, nothing is changed. Throws StoreError with a remedy.
 */
export async function openOwnStore(location: StoreLocation, options: OpenOptions): Promise<Store> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqlite(location.path, { ...options, ...hostClocks })
}

/**
 * Opens the store for a command, while a daemon may be serving it. Creates or migrates the schema only if none does. Throws StoreError
 * with a remedy.
 */
export async function openStore(location: StoreLocation, options: OpenOptions): Promise<SharedStore> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqliteShared(location.path, { maxSize: options.maxSize, ...hostClocks })
}

/** Loads the driver only when it is needed. */
async function openPostgres(url: Secret, options: OpenOptions): Promise<Store> {
  const postgres = await import('./postgres/open-postgres.ts')
  return postgres.openPostgres(url.reveal(), options)
}
