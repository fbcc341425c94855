// Views on PostgreSQL.
import { trendsOn } from '../read-models/trends-sql.ts'
import { placed } from './statements.ts'
import { postgresTrendTaking } from './trend-taking.ts'
import { listingColumns, listingOf, listingValues } from '../read-models/listing.ts'
import { viewsOn, type Ask } from '../read-models/views-sql.ts'
import type { Database, Session } from './database.ts'
import type { Run } from '../../model/run.ts'
import type { Views } from '../ports/views.ts'

/** `upkeep`: the same database, for what takes longer than a page may. */
export function postgresViews(db: Database, upkeep: Database): Views {
  const ask: Ask = async (sql, values) => db.ask(placed(sql), values)
  return {
    ...viewsOn(ask, db.damaged),
    trends: { ...trendsOn(ask, db.damaged), ...postgresTrendTaking(upkeep) },
  }
}

/** Within the transaction that writes the runs. */
export async function listRuns(
  session: Session,
  runs: readonly { readonly id: number; readonly run: Run }[],
  now: number,
): Promise<void> {
  const rows = runs.flatMap(({ id, run }) => {
    const listing = listingOf(run, now)
    return listing === undefined ? [] : [[id, ...listingValues(listing)]]
  })
  if (rows.length === 0) return
  const types = [
    'bigint',
    'text',
    'bigint',
    'bigint',
    'text',
    'text',
    'text',
    'text',
    'bigint',
    'bigint',
    'bigint',
    'text',
  ]
  const columns = types.map((_, column) => rows.map(row => row[column]))
  await session.query(
    `INSERT INTO listed_runs AS l (run_id, ${listingColumns})
     SELECT * FROM unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
     ON CONFLICT (run_id) DO UPDATE SET
       project = excluded.project, status = excluded.status, ref = excluded.ref, source = excluded.source,
       created_at = excluded.created_at, finished_at = excluded.finished_at, parent_id = excluded.parent_id, text = excluded.text
     WHERE (l.project, l.status, l.ref, l.source, l.created_at, l.finished_at, l.parent_id, l.text) IS DISTINCT FROM
           (excluded.project, excluded.status, excluded.ref, excluded.source, excluded.created_at, excluded.finished_at,
            excluded.parent_id, excluded.text)`,
    columns,
  )
}
