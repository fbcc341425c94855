// The lists of runs on SQLite are brought up to date when somebody looks at them, or for many runs at once: they have an index for
// each filter, and one run written by itself would change a page of each index.
//
// Which runs are to be listed is written with them. What they are listed as is remembered, and read again where it is not.
import { number, record, type Row } from '../sql/columns.ts'
import { headOf, keyOf } from '../sql/run-rows.ts'
import { insertListings, listingOf, listingValues, type ListingValues } from '../read-models/listing.ts'
import { loadJobs } from './run-rows.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { Run } from '../../model/run.ts'

export interface Listings {
  /** Within the transaction that writes the run. */
  add(runId: number, run: Run, now: number): void
  /** Within a transaction, after its runs were added: lists them when they have become many. */
  listMany(): void
  /** Before somebody looks. Throws StoreError. */
  catchUp(): void
}

const unlisted = record({ id: number('run_id'), version: number('version') })
const changedAt = number('changed_at')

/** Runs that wait: some milliseconds of writing. */
const many = 512

const writeListing = insertListings('VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')

export function sqliteListings(db: Database, recent: RecentChunks): Listings {
  /** By run: what it is listed as, if the version in its row is still this one. Others may have written the run since. */
  const known = new Map<number, { readonly version: number; readonly values: ListingValues }>()
  let nextVersion = Math.floor(Math.random() * 2 ** 50)

  function valuesOf(row: Row): ListingValues | undefined {
    const head = headOf(row)
    const needsJobs = head.pipeline !== undefined && head.pipeline.times.createdAt === undefined
    const jobs: Run['jobs'] = needsJobs ? loadJobs(db, recent, row, 'all') : new Map()
    const listing = listingOf({ ...head, jobs }, changedAt(row))
    return listing && listingValues(listing)
  }

  function readValues(row: Row): ListingValues | undefined {
    return db.damaged.orNothing({ ...keyOf(row) }, 'it is not listed', () => valuesOf(row))
  }

  /** Answers how many waited. */
  function list(): number {
    const waiting = db.prepare('SELECT run_id, version FROM unlisted_runs ORDER BY run_id LIMIT ?').all(many)
    const runOf = db.prepare('SELECT * FROM runs WHERE id = ?')
    const isThere = db.prepare('SELECT 1 FROM runs WHERE id = ?')
    const write = db.prepare(writeListing)
    const done = db.prepare('DELETE FROM unlisted_runs WHERE run_id = ?')
    for (const { id, version } of waiting.map(unlisted)) {
      const remembered = known.get(id)
      known.delete(id)
      const isCurrent = remembered?.version === version
      const row = isCurrent ? undefined : runOf.get(id)
      const values = isCurrent ? isThere.get(id) && remembered.values : row && readValues(row)
      if (values !== undefined) write.run(id, ...values)
      done.run(id)
    }
    // All are listed: what is left was added by a transaction that was rolled back.
    if (waiting.length < many) known.clear()
    return waiting.length
  }

  return {
    add: (runId, run, now) => {
      const listing = listingOf(run, now)
      if (listing === undefined) return
      const version = nextVersion++
      db.prepare('INSERT OR REPLACE INTO unlisted_runs VALUES (?, ?)').run(runId, version)
      known.set(runId, { version, values: listingValues(listing) })
    },
    listMany: () => {
      if (known.size >= many) list()
    },
    catchUp: () => {
      // Other processes write runs too, and leave them to whoever looks first.
      const isBehind = db.prepare('SELECT 1 FROM unlisted_runs LIMIT 1').get() !== undefined
      while (isBehind && db.transaction(list) === many);
    },
  }
}
