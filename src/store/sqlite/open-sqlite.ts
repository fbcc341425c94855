// The embedded store: one SQLite file, every room's tables on one connection.
import { openDatabase, type Database } from './database.ts'
import { reclaimAsking, sqliteAsking } from './asking.ts'
import { sqliteDeliveryKeys, type DeliveryKeys } from './delivery-keys.ts'
import { createRecentParts } from './recent-parts.ts'
import { sqliteListings } from './listings.ts'
import { sqliteExports } from './exports.ts'
import { createLeases } from './leases.ts'
import { endOfJournal } from '../journal/reader.ts'
import { eraseUnderstood, journalBytes, journalFolder } from '../journal/segments.ts'
import { journalInbox, readProgress, type JournalInbox } from './journal-inbox.ts'
import { journalMarks, type JournalMarks } from '../journal/marks.ts'
import { lastUnderstood } from '../journal/progress.ts'
import { moveIntoTable, sqliteInbox } from './inbox.ts'
import { sqliteNotes } from './notes.ts'
import { sqlitePruning } from './pruning.ts'
import { sqliteTotals } from './totals.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteTables } from './tables.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { takeInSql } from '../trends-sql.ts'
import { sqliteViews } from './views.ts'
import type { Store, StoreOptions } from '../store.ts'

/** Opens the file, or `:memory:`. `marks`: shared with the door, by the one process that serves it. Throws StoreError with a remedy. */
export function openSqlite(file: string, options: StoreOptions, marks?: JournalMarks): Store {
  const db = openDatabase(file, options.now)
  const folder = file === ':memory:' ? undefined : journalFolder(file)
  const shared = marks ?? journalMarks()
  const keys = sqliteDeliveryKeys(db)
  const journal = folder === undefined ? undefined : openJournal(db, keys, folder, shared)
  const waiting = { db, leases: createLeases(), keys, journal }
  const recent = createRecentParts(options.now)
  const listings = sqliteListings(db, recent)
  const trends = sqliteTrendTaking(db, recent)
  const size = (): number => db.size() + (folder === undefined ? 0 : journalBytes(folder))
  return {
    // Some milliseconds, so that everything else on the thread has its turn; larger ones were tried, and are no faster.
    runsPerTransaction: 16,
    inbox: sqliteInbox(waiting, { size, maxSize: options.maxSize }),
    runs: sqliteRuns({ waiting, recent, listings }),
    exports: sqliteExports(db, recent),
    asking: sqliteAsking(db),
    ...sqliteNotes(db),
    pruning: sqlitePruning(db, recent, trends, () => size() / options.maxSize),
    tables: sqliteTables(db),
    totals: sqliteTotals(db),
    views: sqliteViews(db, trends, listings),
    now: async () => db.now(),
    proveWritable: async () => proveWritable(db),
    reclaim: async () => {
      db.transaction(() => {
        // Leases in rows: of a file that an earlier version served, or that was copied from PostgreSQL.
        db.prepare(`UPDATE exports SET due_at = ?, lease = NULL WHERE state = 'owed' AND lease IS NOT NULL`).run(
          db.now(),
        )
        reclaimAsking(db)
        // Of a file that an earlier version pruned, or that was copied.
        db.prepare(takeInSql.moveBack).run()
      })
    },
    intoTables: async () => {
      moveIntoTable(waiting)
      listings.catchUp()
      if (folder !== undefined) await eraseUnderstood(folder, shared)
    },
    close: async () => {
      journal?.close()
      // Nobody writes the journal any more: what is understood of it is not left behind.
      if (folder !== undefined && marks !== undefined) await eraseUnderstood(folder, marks)
      db.close()
    },
  }
}

function openJournal(db: Database, keys: DeliveryKeys, folder: string, marks: JournalMarks): JournalInbox {
  const progress = readProgress(db)
  const understood = lastUnderstood(progress)
  const end = endOfJournal(folder)
  // A journal that was lost, or is older than the file, does not give numbers again.
  marks.moveEnd(end !== undefined && end.seq > understood.seq ? end : understood)
  marks.moveUnderstood(progress.to.seq)
  return journalInbox(db, keys, folder, marks)
}

function proveWritable(db: Database): void {
  const now = db.now()
  db.transaction(() => db.prepare('INSERT OR REPLACE INTO heartbeat VALUES (1, ?)').run(now))
}
