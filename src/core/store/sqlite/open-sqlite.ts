// Opens the embedded store: one SQLite file on one connection. The serving process opens the file as its owner; commands share it and get only the
// operations that they may use.
import path from 'node:path'
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { isUpToDate, openOwnDatabase, openSharedDatabase, type Database } from './database.ts'
import { sqliteOutbox } from './outbox.ts'
import { forGood } from '../sql/too-far-ahead.ts'
import { queueTables } from '../sql/leased-queue.ts'
import { lockForServing } from './serve-lock.ts'
import { makeFolder, storeFile, placeFault } from './store-file.ts'
import { sqliteStatements, execute, withinOf } from './statements.ts'
import { tables, type Catalog } from '../sql/tables.ts'
import { operations } from '../sql/operations.ts'
import { readsOn } from '../read-models/reads.ts'
import { pruning } from '../sql/pruning.ts'
import type { SharedStore, Store, StoreOptions } from '../ports/store.ts'
import { changeRuns, type OnChanged } from '../sql/runs.ts'
import { keyOf } from '../sql/columns.ts'
import { number, record } from '../sql/columns.ts'
import { runReads } from '../sql/run-reads.ts'
import { takeIn } from '../sql/take-in.ts'
import type { Steps, Within } from '../sql/steps.ts'
import type { Runs } from '../ports/runs.ts'

/** How many unused pages are returned to the file system at a time: 2 MiB, which takes a few milliseconds. */
const pagesPerStep = 128

/**
 * Opens the file as its only server until it is closed, and creates or migrates it. The lock is taken before anything is opened for writing.
 * `:memory:` has no files. Does not touch a file that another process serves. Throws a StoreError that says how to fix the problem.
 */
export function openSqlite(file: string, options: StoreOptions): Store {
  if (file === ':memory:') return ownStore(openOwnDatabase(file, options), options)
  const { real, lock } = lockedFile(file)
  let db: Database | undefined
  try {
    db = openOwnDatabase(real, options)
    syncCommits(`${real}-wal`)
    const store = ownStore(db, options, `${real}-sending`)
    return {
      ...store,
      close: async () => {
        try {
          await store.close()
        } finally {
          lock.release()
        }
      },
    }
  } catch (error) {
    db?.close()
    lock.release()
    throw placeFault(real, error)
  }
}

/**
 * Opens the SQLite file while another process may be serving it. Creates or migrates the file only if no process serves it. Throws a StoreError that
 * says how to fix the problem.
 */
export function openSqliteShared(file: string, options: StoreOptions): SharedStore {
  const real = storeFile(file)
  if (!isUpToDate(real, options.parts ?? [])) {
    const { lock } = lockedFile(real)
    try {
      openOwnDatabase(real, options).close()
    } finally {
      lock.release()
    }
  }
  const db = openSharedDatabase(real, options)
  return { ...rooms(db, options), close: async () => db.close() }
}

function lockedFile(file: string): { readonly real: string; readonly lock: ReturnType<typeof lockForServing> } {
  const real = storeFile(file)
  try {
    makeFolder(path.dirname(real))
  } catch (error) {
    throw placeFault(real, error)
  }
  return { real, lock: lockForServing(real) }
}

function ownStore(db: Database, options: StoreOptions, sending?: string): Store {
  const store = rooms(db, options, sending)
  return {
    ...store,
    isInPlace: () => db.isInPlace(),
    proveWritable: async () => {
      db.proveInPlace()
      await store.proveWritable()
    },
    reclaim: async () => {
      const queues = [...queueTables, ...(options.parts ?? []).flatMap(one => one.queues ?? [])]
      db.transaction(() => {
        for (const statement of giveBack(queues)) db.prepare(statement).run(db.now())
      })
    },
    close: async () => db.close(),
  }
}

/**
 * The statements that end all leases stored in rows. The process that held them has crashed, so there is no need to wait until they expire. The
 * parameter is the store's time in ms.
 */
const giveBack = (queues: readonly string[]): readonly string[] => [
  // Outbox rows contain leases only if the file was copied from PostgreSQL.
  `UPDATE outbox SET due_at = ?1, lease = NULL WHERE state = 'pending' AND lease IS NOT NULL`,
  ...queues.map(table => `UPDATE ${table} SET due_at = ?1, leased = 0 WHERE leased = 1 AND due_at IS NOT NULL`),
  // Ends the leases for polling, metric flushes, maintenance and similar work. The permanent lease that marks an unfinished copy stays.
  `DELETE FROM leases WHERE until < ?1 + ${forGood}`,
]

/** Builds the parts of the store that the serving process and commands have in common. `sending`: the file that lists the leased exports. */
function rooms(db: Database, options: StoreOptions, sending?: string) {
  const sql = sqliteStatements(db)
  const shared = operations(sql, options)
  const outbox = sqliteOutbox(db, sending)
  return {
    ...shared,
    // A transaction with 32 runs takes a few milliseconds, so the thread can do other work between two transactions. docs/internals/performance.md
    // has figures for other sizes.
    runsPerTransaction: 32,
    groupsAtOnce: 1,
    runs: sqliteRuns(db),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories, shared.parts),
    pruning: pruning(sql, {
      fullness: async () => db.size() / options.maxSize,
      giveBack: async () => db.giveBack(pagesPerStep),
    }),
    tables: tables(sql, catalog),
    isFull: async () => db.size() >= options.maxSize,
    proveWritable: async () => proveWritable(db),
  }
}

/**
 * Syncs commits that a killed process may have written without a sync. That process did not acknowledge them. But from now on a sender that repeats
 * such a delivery gets "duplicate", which is an acknowledgement.
 */
function syncCommits(wal: string): void {
  const descriptor = openSync(wal, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}

// The repository of runs on SQLite. Leases are in memory, because only one process serves the file.

export function sqliteRuns(db: Database): Runs {
  /** When each run's lease ends, in monotonic ms. Leases are in memory, because storing a lease would rewrite the run's row. */
  const leased = new Map<number, number>()
  /** Runs the steps in a transaction, and ends the leases of all runs that the steps change. */
  function inTransaction<T>(steps: (onChanged: OnChanged, within: Within) => Steps<T>): T {
    const changed: number[] = []
    const result = db.transaction(() =>
      execute(
        db,
        steps(id => changed.push(id), withinOf(db)),
      ),
    )
    for (const id of changed) leased.delete(id)
    return result
  }
  return {
    takeIn: async taking => {
      // If the file has been removed or replaced, its data disappears when the process exits, so the commit must not be acknowledged.
      db.proveInPlace()
      return inTransaction((onChanged, within) => takeIn(taking, onChanged, within))
    },
    transact: async (work, beside = {}) =>
      inTransaction((onChanged, within) => changeRuns(work, beside, onChanged, within)),
    takeDue: async (limit, leaseMs) => {
      const at = db.elapsed()
      for (const [id, until] of leased) if (until <= at) leased.delete(id)
      const rows = db
        .prepare('SELECT id, instance, pipeline_id FROM runs WHERE due_at <= ? ORDER BY due_at LIMIT ?')
        .all(db.now(), limit + leased.size)
      const free = rows.filter(row => !leased.has(idOf(row))).slice(0, limit)
      for (const row of free) leased.set(idOf(row), at + leaseMs)
      return free.map(keyOf)
    },
    dueIn: async () => {
      const at = db.elapsed()
      const rows = db
        .prepare('SELECT id, due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?')
        .all(leased.size + 1)
      const free = rows.map(due).find(({ id }) => (leased.get(id) ?? 0) <= at)?.at ?? Infinity
      const pause = Math.min(free - db.now(), Math.min(...leased.values()) - at)
      return pause === Infinity ? undefined : Math.max(0, pause)
    },
    ...runReads(sqliteStatements(db)),
  }
}

const idOf = number('id')
const due = record({ id: number('id'), at: number('due_at') })

/** Lists the tables of an SQLite store, so that it can be copied. */
const catalog: Catalog = {
  selectSchema: 'SELECT user_version AS number FROM pragma_user_version',
  selectTables: `
    SELECT name, columns, key, key AS ordered FROM (
      SELECT name, rowid AS place,
             (SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(s.name) ORDER BY cid)) AS columns,
             (SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(s.name) WHERE pk > 0 ORDER BY pk)) AS key
      FROM sqlite_schema s WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\') ORDER BY place`,
  // There are no sequences to advance on SQLite: a new id always follows the greatest id.
  finish: async () => undefined,
}
