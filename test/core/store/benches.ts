// Creates benches for the exercises. A bench holds one test's data in either database, and a clock that the test moves.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll } from 'vitest'
import { openPostgres, openSqlite, openSqliteShared, type TestStoreOptions } from '../../support/stores.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { newDatabase } from './new-database.ts'
import { query } from './postgres-server.ts'
import { StoreTaken } from '../../../src/core/store/sqlite/serve-lock.ts'
import { t0 } from '../../flow/world.ts'
import type { Log } from '../../../src/lib/log.ts'
import type { EncodeMessages } from '../../../src/core/store/ports/outbox.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** The data of one test. Each call to `open` opens a store on the same data. */
export interface Bench {
  open(options?: { maxSize?: number; log?: Log; encode?: EncodeMessages }): Promise<Store>
  now(): number
  move(ms: number): void
  /** Removes the test's data. */
  dispose(): Promise<void>
}

/** A bench that can also write to its database directly, without the store. */
export interface BareBench extends Bench {
  sql(text: string): Promise<void>
}

/** A bench whose data is opened by `open`. Stores that are still open at the end are closed. */
export function benchOf(
  open: (options: TestStoreOptions) => Promise<Store>,
  sql: (text: string) => Promise<void>,
  remove = async (): Promise<void> => undefined,
): BareBench {
  let now = t0
  const opened = new Set<Store>()
  return {
    open: async ({ maxSize = 2 ** 30, ...options } = {}) => {
      const store = await open({ now: () => now, maxSize, ...options })
      const close = store.close.bind(store)
      store.close = async () => {
        opened.delete(store)
        await close()
      }
      opened.add(store)
      return store
    },
    now: () => now,
    move: ms => {
      now += ms
    },
    sql,
    dispose: async () => {
      for (const store of [...opened].reverse()) await store.close()
      await remove()
    },
  }
}

/** Returns a bench and a store on it. Both are closed after the test. For use in `beforeEach`. */
export async function opened<B extends Bench>(bench: () => Promise<B>): Promise<{ here: B; store: Store }> {
  const here = closeAfterTest(await bench())
  return { here, store: await here.open() }
}

/** A bench with an SQLite file in its own folder. */
export async function sqliteBench(): Promise<BareBench> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-store-'))
  const file = path.join(folder, 'data', 'pipespan.db')
  return benchOf(
    async options => ownOrShared(file, options, () => openSqlite(file, options)),
    async text => {
      const raw = new DatabaseSync(file)
      raw.exec(text)
      raw.close()
    },
    async () => rmSync(folder, { recursive: true }),
  )
}

/**
 * Creates benches that share one database, which is emptied before each. Creating a database with its tables takes twenty times as long. Must be
 * called from a test file or a `describe`. The connection that empties the database reads the list of tables only once, and is closed after the
 * tests.
 */
export function postgresBenches(makeDatabase: () => Promise<string>): () => Promise<BareBench> {
  let known: Promise<string> | undefined
  let emptying: pg.Client | undefined
  afterAll(async () => emptying?.end())
  return async () => {
    const isNew = known === undefined
    const url = await (known ??= makeDatabase())
    if (!isNew) {
      if (emptying === undefined) {
        emptying = new pg.Client(url)
        await emptying.connect()
      }
      await emptying.query(empty)
    }
    return benchOf(
      async options => openPostgres(url, options),
      async text => {
        await query(url, text)
      },
    )
  }
}

/** The names of both databases and their benches, for `describe.each`. */
export const bothDatabases = (): [name: string, bench: () => Promise<BareBench>][] => [
  ['SQLite', sqliteBench],
  ['PostgreSQL', postgresBenches(newDatabase)],
]

/** Restores the database to the state that the migrations created: without rows, and with every sequence at its start. */
const empty = `
  DO $$
  DECLARE one record;
  BEGIN
    SET LOCAL session_replication_role = replica;
    FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('pipespan_store', 'schema_parts') LOOP
      EXECUTE format('DELETE FROM public.%I', one.name);
    END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
  END $$`

/**
 * Returns the store that `open` opens. If the file is already being served, returns the shared store instead. The exercises call only methods that
 * the shared store has.
 */
function ownOrShared(file: string, options: TestStoreOptions, open: () => Store): Store {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof StoreTaken)) throw error
    return openSqliteShared(file, options) as Store
  }
}
