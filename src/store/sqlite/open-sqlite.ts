// The embedded store: one SQLite file, every room's tables on one connection.
import { openDatabase, type Database } from './database.ts'
import { reclaimAsking, sqliteAsking } from './asking.ts'
import { createRecentParts } from './recent-parts.ts'
import { sqliteExports } from './exports.ts'
import { createInboxLeases } from './inbox-leases.ts'
import { sqliteInbox } from './inbox.ts'
import { sqliteNotes } from './notes.ts'
import { sqlitePruning } from './pruning.ts'
import { sqliteTotals } from './totals.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { sqliteViews } from './views.ts'
import type { InboxDoor } from '../inbox.ts'
import type { WriteTurns } from './write-turns.ts'
import type { Store, StoreOptions } from '../store.ts'

/** Opens the file, or `:memory:`. Throws StoreError with a remedy. */
export function openSqlite(file: string, options: StoreOptions, turns?: WriteTurns): Store {
  const db = openDatabase(file, options.now, turns)
  const leases = createInboxLeases()
  const recent = createRecentParts(options.now)
  return {
    // Some milliseconds, so that the door, which shares the file, seldom waits for long.
    runsPerTransaction: 16,
    inbox: sqliteInbox(db, leases, options.maxSize),
    runs: sqliteRuns(db, leases, recent),
    exports: sqliteExports(db, recent),
    asking: sqliteAsking(db),
    ...sqliteNotes(db),
    pruning: sqlitePruning(db, options.maxSize),
    tables: sqliteTables(db),
    totals: sqliteTotals(db),
    views: sqliteViews(db, recent),
    proveWritable: async () => proveWritable(db),
    reclaim: async () => {
      db.transaction(() => {
        db.prepare(`UPDATE exports SET due_at = ?, lease = NULL WHERE state = 'owed' AND lease IS NOT NULL`).run(
          db.now(),
        )
        reclaimAsking(db)
      })
    },
    close: async () => db.close(),
  }
}

/** A second connection to a file that is open already: for the thread that only puts deliveries into the inbox. */
export function openSqliteDoor(file: string, options: StoreOptions, turns: WriteTurns): InboxDoor {
  const db = openDatabase(file, options.now)
  // Writing the log back into the file would hold up whoever waits at the door: the other connection does it.
  db.prepare('PRAGMA wal_autocheckpoint = 0').get()
  const inbox = sqliteInbox(db, createInboxLeases(), options.maxSize)
  const inTurn = async <T>(work: () => T): Promise<Awaited<T>> => {
    await turns.wantAndTake()
    try {
      return await work()
    } finally {
      turns.give()
    }
  }
  return {
    put: async deliveries => inTurn(() => inbox.put(deliveries)),
    proveWritable: async () => inTurn(() => proveWritable(db)),
    close: async () => db.close(),
  }
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
