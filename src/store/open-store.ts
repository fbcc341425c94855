// Chooses the database by where the store is said to be.
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

export interface OpenOptions {
  /** Bytes the store may hold before it takes no more deliveries. */
  readonly maxSize: number
  /** For the process that serves the store, and has it open twice, on two threads. PostgreSQL needs none. */
  readonly positions?: WalPositions | undefined
  /** For what an operator must know. */
  readonly log?: Log | undefined
  /** On PostgreSQL: a statement that is not answered by then has failed, ms. */
  readonly patience?: number | undefined
}

/** Whole ms, as what is reckoned from them may be stored. */
const hostClocks = { now: () => Date.now(), elapsed: () => Math.floor(performance.now()) }

/** Of the daemon: what it does is tried again. Its senders wait for an answer, 10 s at most. */
export const patience = { daemon: 15_000, ingress: 6_000 } as const

/**
 * Opens the store to serve it: creates what is missing and brings the schema to this version's. A file is this process's alone until
 * it is closed; where another process has it, nothing is changed. Throws StoreError with a remedy.
 */
export async function openOwnStore(location: StoreLocation, options: OpenOptions): Promise<Store> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqlite(location.path, { ...options, ...hostClocks }, options.positions)
}

/**
 * Opens the store beside whoever serves it, for a command: it can work off nothing and erase nothing. What is missing or of an older
 * schema is made or migrated only where nobody serves the file. Throws StoreError with a remedy.
 */
export async function openStore(location: StoreLocation, options: OpenOptions): Promise<SharedStore> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqliteShared(location.path, {
    maxSize: options.maxSize,
    ...hostClocks,
  })
}

/** Opens a store that is open already for a thread that only puts deliveries into its inbox. */
export async function openInboxWriter(
  location: StoreLocation,
  options: OpenOptions & { readonly positions: WalPositions },
): Promise<InboxWriter> {
  if (location.engine === 'sqlite') {
    return openSqliteInboxWriter(location.path, { ...options, ...hostClocks }, options.positions)
  }
  const store = await openPostgres(location.url, { ...options, patience: patience.ingress })
  return {
    // On connections of their own: one that is not answered any more holds up no other.
    abreast: 4,
    put: async deliveries => store.inbox.put(deliveries),
    proveWritable: async () => proveRoom(store),
    close: async () => store.close(),
  }
}

/** Its driver is only loaded where it is wanted. */
async function openPostgres(url: Secret, options: OpenOptions): Promise<Store> {
  const postgres = await import('./postgres/open-postgres.ts')
  return postgres.openPostgres(url.reveal(), options)
}
