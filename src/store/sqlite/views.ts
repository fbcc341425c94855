// Views on SQLite.
import {
  additions,
  forgottenBefore,
  needsEarlier,
  rowKey,
  rowValues,
  takeInSql,
  trendsOn,
  trendSteps,
} from '../trends-sql.ts'
import { listingColumns, listingOf, listingValues } from '../listing.ts'
import { viewsOn, type Ask } from '../views-sql.ts'
import type { Database, Row } from './database.ts'
import type { FrozenPart } from '../../model/frozen.ts'
import type { RecentParts } from './recent-parts.ts'
import type { Run } from '../../model/run.ts'
import type { Views } from '../views.ts'

export function sqliteViews(db: Database, recent: RecentParts): Views {
  const ask: Ask = async (sql, values) => db.prepare(sql).all(...values)
  return {
    ...viewsOn(ask),
    trends: {
      ...trendsOn(ask),
      takeIn: async limit => db.transaction(() => takeIn(db, recent, limit)),
      prune: async () =>
        db.transaction(() =>
          trendSteps.reduce(
            (sum, step) => sum + Number(db.prepare(takeInSql.prune).run(step, forgottenBefore(step, db.now())).changes),
            0,
          ),
        ),
    },
  }
}

function takeIn(db: Database, recent: RecentParts, limit: number): number {
  const reached = db.prepare(takeInSql.reached).get()?.part_id as number
  // One writer at a time: no part with a smaller number can appear later.
  const rows = db.prepare(takeInSql.parts).all(reached, Number.MAX_SAFE_INTEGER, limit) as Row[]
  const last = rows.at(-1)
  if (last === undefined) return 0
  const parts = rows.map(row => {
    const part = recent.recall(row.id as number)?.part ?? viewOf(row)
    const before = needsEarlier(part)
      ? (db.prepare(takeInSql.earlier).all(row.run_id as number, part.attempt, row.id as number) as Row[])
      : []
    return { part, earlier: before.map(viewOf) }
  })
  for (const { step, row } of additions(parts)) {
    const before = db.prepare(takeInSql.row).get(...rowKey(step, row))
    db.prepare(takeInSql.write).run(...rowValues(step, row, before))
  }
  db.prepare(takeInSql.move).run(last.id as number)
  return rows.length
}

function viewOf(row: Row): FrozenPart {
  return JSON.parse(row.view as string) as FrozenPart
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
