// Views on SQLite.
import { trendsOn } from '../trends-sql.ts'
import { sqliteTrendTaking } from './trend-taking.ts'
import { listingColumns, listingOf, listingValues } from '../listing.ts'
import { viewsOn, type Ask } from '../views-sql.ts'
import type { Database } from './database.ts'
import type { RecentParts } from './recent-parts.ts'
import type { Run } from '../../model/run.ts'
import type { Views } from '../views.ts'

export function sqliteViews(db: Database, recent: RecentParts): Views {
  const ask: Ask = async (sql, values) => db.prepare(sql).all(...values)
  return {
    ...viewsOn(ask),
    trends: {
      ...trendsOn(ask),
      ...sqliteTrendTaking(db, recent),
    },
  }
}

const writeListing = `
  INSERT INTO listed_runs (run_id, ${listingColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (run_id) DO UPDATE SET
    project = excluded.project, status = excluded.status, ref = excluded.ref, source = excluded.source,
    created_at = excluded.created_at, finished_at = excluded.finished_at, parent_id = excluded.parent_id, text = excluded.text
  WHERE (project, status, ref, source, created_at, finished_at, parent_id, text) IS NOT
        (excluded.project, excluded.status, excluded.ref, excluded.source, excluded.created_at, excluded.finished_at,
         excluded.parent_id, excluded.text)`

/** Within the transaction that writes the run. */
export function listRun(db: Database, runId: number, run: Run, now: number): void {
  const listing = listingOf(run, now)
  if (listing !== undefined) db.prepare(writeListing).run(runId, ...listingValues(listing))
}
