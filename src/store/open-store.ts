// Chooses the database by the store's URL.
import { lockForServing, type ServeLock } from './sqlite/serve-lock.ts'
import { openPostgres } from './postgres/open-postgres.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import { StoreError } from '../lib/fault.ts'
import type { Store } from './store.ts'

export interface OpenOptions {
  /** Bytes the store may hold before it takes no more deliveries. */
  readonly maxSize: number
}

/**
 * `sqlite:./data/pipespan.db`, `sqlite:/absolute/file.db`, or a PostgreSQL connection URI (`postgres://user:…@host/database`).
 * Throws StoreError with a remedy.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  if (isPostgres(url)) return openPostgres(url, options)
  return openSqlite(sqliteFile(url), { ...options, now: () => Date.now() })
}

/**
 * Takes the store for one daemon alone, where it allows only one (SQLite): throws StoreError naming the other one.
 * Undefined where any number may share it.
 */
export function claimStore(url: string): ServeLock | undefined {
  return isPostgres(url) ? undefined : lockForServing(sqliteFile(url))
}

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url)
}

function sqliteFile(url: string): string {
  const [, file] = /^sqlite:(.+)$/.exec(url) ?? []
  if (file === undefined) {
    throw new StoreError(
      `The store's URL has no form that this version knows.`,
      'Set PIPESPAN_STORE_URL to sqlite:./data/pipespan.db, or to postgres://user:password@host/database.',
    )
  }
  return file.replace(/^\/\/(?=\/)/, '')
}
