// Chooses the database by the store's URL.
import { StoreError } from '../lib/fault.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import { lockForServing, type ServeLock } from './sqlite/serve-lock.ts'
import type { Store, StoreOptions } from './store.ts'

/** `sqlite:./data/pipespan.db`, `sqlite:/absolute/file.db` or `sqlite::memory:`. Throws StoreError with a remedy. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  return openSqlite(sqliteFile(url), options)
}

/** Takes the store for one daemon alone, where the store allows only one. Throws StoreError naming the other one. */
export function claimStore(url: string): ServeLock {
  return lockForServing(sqliteFile(url))
}

function sqliteFile(url: string): string {
  const [, file] = /^sqlite:(.+)$/.exec(url) ?? []
  if (file === undefined) {
    throw new StoreError(
      `The store's URL has no form that this version knows.`,
      'Set PIPESPAN_STORE_URL to sqlite:./data/pipespan.db or another file.',
    )
  }
  return file.replace(/^\/\/(?=\/)/, '')
}
