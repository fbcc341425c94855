// The lists of runs on SQLite are updated when they are read, or for many runs at once: they have an index for each filter, and a single
// insertion would change a page of each.
//
// The ids of runs that are still to be listed are stored with the runs. Their listings are in memory, or are computed again from the rows.
import { number, record, type Row } from '../sql/columns.ts'
import { headOf, keyOf } from '../sql/run-rows.ts'
import { insertListings, listingOf, listingValues, type ListingValues } from '../read-models/listing.ts'
import { loadJobs } from '../sql/run-jobs.ts'
import { taken } from './steps.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { Job } from '../../model/job.ts'
import type { Run } from '../../model/run.ts'

export interface Listings {
  /** Within the transaction that writes the run. */
  readonly add: (runId: number, run: Run, now: number) => void
  /** Within a transaction, after adding its runs: writes the listings if there are many, and answers true then. */
  listMany(): boolean
  /** To be called before reading lists. Throws StoreError. */
  catchUp(): void
}

const unlisted = record({ id: number('run_id'), version: number('version') })
const changedAt = number('changed_at')

/** Writing so many takes some milliseconds. */
const many = 512

export function sqliteListings(db: Database, recent: RecentChunks): Listings {
  /** Listings by run. Valid if the row has the same version: another process may have written the run since. */
  const known = new Map<number, { readonly version: number; readonly values: ListingValues }>()
  let nextVersion = Math.floor(Math.random() * 2 ** 50)

  function valuesOf(row: Row): ListingValues | undefined {
    const head = headOf(row)
    const needsJobs = head.pipeline !== undefined && head.pipeline.times.createdAt === undefined
    const wanted = { run: row, jobs: 'all' as const }
    const jobs = needsJobs ? taken(db, loadJobs([wanted], recent.recallOfRun)).jobs(row) : new Map<number, Job>()
    const listing = listingOf({ ...head, jobs }, changedAt(row))
    return listing && listingValues(listing)
  }

  function readValues(row: Row): ListingValues | undefined {
    return db.damaged.orNothing({ ...keyOf(row) }, 'it is not listed', () => valuesOf(row))
  }

  /** Returns how many waited. */
  function list(): number {
    const waiting = db.prepare('SELECT run_id, version FROM unlisted_runs ORDER BY run_id LIMIT ?').all(many)
    const runOf = db.prepare('SELECT * FROM runs WHERE id = ?')
    const isThere = db.prepare('SELECT 1 FROM runs WHERE id = ?')
    const write = db.prepare(insertListings.sqlite)
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
    // All are listed: what is left is from a transaction that was rolled back.
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
      const areMany = known.size >= many
      if (areMany) list()
      return areMany
    },
    catchUp: () => {
      // Other processes write runs, too, and leave listing them to the next reader.
      const isBehind = db.prepare('SELECT 1 FROM unlisted_runs LIMIT 1').get() !== undefined
      while (isBehind && db.transaction(list) === many);
    },
  }
}
