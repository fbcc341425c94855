// Chooses the database by where the store is said to be.
import { lockForServing, type ServeLock } from './sqlite/serve-lock.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import { openSqliteDoor } from './sqlite/inbox-door.ts'
import type { Secret } from '../lib/secret.ts'
import type { InboxDoor } from './inbox.ts'
import type { JournalMarks } from './journal/marks.ts'
import type { Store } from './store.ts'

export { journalMarks } from './journal/marks.ts'

/** A file, or a PostgreSQL connection URI with its password. */
export type StoreLocation =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: Secret }

export interface OpenOptions {
  /** Bytes the store may hold before it takes no more deliveries. */
  readonly maxSize: number
  /** For the process that serves the store, and has it open twice, on two threads. PostgreSQL needs none. */
  readonly marks?: JournalMarks | undefined
}

/** Creates what is missing and brings the schema to this version's. Throws StoreError with a remedy. */
export async function openStore(location: StoreLocation, options: OpenOptions): Promise<Store> {
  if (location.engine === 'postgres') return openPostgres(location.url, options)
  return openSqlite(location.path, { maxSize: options.maxSize, now: () => Date.now() }, options.marks)
}

/** Opens a store that is open already for a thread that only puts deliveries into its inbox. */
export async function openInboxDoor(
  location: StoreLocation,
  options: OpenOptions & { readonly marks: JournalMarks },
): Promise<InboxDoor> {
  if (location.engine === 'sqlite') {
    return openSqliteDoor(location.path, { maxSize: options.maxSize, now: () => Date.now() }, options.marks)
  }
  const store = await openPostgres(location.url, options)
  return {
    put: async deliveries => store.inbox.put(deliveries),
    proveWritable: async () => store.proveWritable(),
    close: async () => store.close(),
  }
}

/** Its driver is only loaded where it is wanted. */
async function openPostgres(url: Secret, options: OpenOptions): Promise<Store> {
  const postgres = await import('./postgres/open-postgres.ts')
  return postgres.openPostgres(url.reveal(), options)
}

/**
 * Takes the store for one daemon alone, where it allows only one (SQLite): throws StoreError naming the other one.
 * Undefined where any number may share it.
 */
export function claimStore(location: StoreLocation): ServeLock | undefined {
  return location.engine === 'postgres' ? undefined : lockForServing(location.path)
}
