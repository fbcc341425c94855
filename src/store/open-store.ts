// Opens the store: chooses the database by its location.
import { openSqlite, openSqliteShared } from './sqlite/open-sqlite.ts'
import { proveRoom } from './maintenance/writable.ts'
import { openSqliteInboxWriter } from './sqlite/inbox-writer.ts'
import type { Secret } from '../lib/secret.ts'
import type { InboxWriter } from './ports/inbox.ts'
import type { Log } from '../lib/log.ts'
import type { WalPositions } from './sqlite/wal/positions.ts'
import type { SharedStore, Store } from './ports/store.ts'

export { walPositions } from './sqlite/wal/positions.ts'

/** A file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

interface OpenOptions {
  /** At this size, in bytes, the store refuses deliveries. */
  readonly maxSize: number
  /** SQLite: shared by the two threads of the daemon, which each open the store. */
  readonly positions?: WalPositions | undefined
  readonly log?: Log | undefined
  /** PostgreSQL: the time-out of a statement, ms. */
  readonly patience?: number | undefined
}

/** Whole ms: what is computed from them may be stored in integer columns. */
const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** Time-outs of statements, ms. Shorter for the ingress, as senders of webhooks wait 10 s at most. */
export const patience = { daemon: 15_000, ingress: 6_000 } as const

/**
 * Opens the store to serve it: creates or migrates the schema. A SQLite file then belongs to this process until it is closed; if it
 * belongs to another process, nothing is changed. Throws StoreError with a remedy.
 */
export async function openOwnStore(location: StoreLocation, options: OpenOptions): Promise<Store> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqlite(location.path, { ...options, ...hostClocks }, options.positions)
}

/**
 * Opens the store for a command, while a daemon may be serving it. Creates or migrates the schema only if none does. Throws StoreError
 * with a remedy.
 */
export async function openStore(location: StoreLocation, options: OpenOptions): Promise<SharedStore> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqliteShared(location.path, { maxSize: options.maxSize, ...hostClocks })
}

/** Opens the store, which must be open already, for the thread that puts deliveries into its inbox. */
export async function openInboxWriter(
  location: StoreLocation,
  options: OpenOptions & { readonly positions: WalPositions },
): Promise<InboxWriter> {
  if (location.engine === 'sqlite') {
    return openSqliteInboxWriter(location.path, { ...options, ...hostClocks }, options.positions)
  }
  const store = await openPostgres(location.url, { ...options, patience: patience.ingress })
  return {
    // On several connections, so that one that hangs does not block the others.
    abreast: 4,
    put: async deliveries => store.inbox.put(deliveries),
    proveWritable: async () => proveRoom(store),
    close: async () => store.close(),
  }
}

/** Loads the driver only when it is needed. */
async function openPostgres(url: Secret, options: OpenOptions): Promise<Store> {
  const postgres = await import('./postgres/open-postgres.ts')
  return postgres.openPostgres(url.reveal(), options)
}
