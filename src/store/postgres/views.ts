// Views on PostgreSQL.
import { forgottenBefore, needsEarlier, rowKey, rowValues, takeInSql, trendsOn, trendSteps } from '../trends-sql.ts'
import { TrendSums } from '../trend-sums.ts'
import { listingColumns, listingOf, listingValues } from '../listing.ts'
import { viewsOn, type Ask } from '../views-sql.ts'
import type { Database, Row, Session } from './database.ts'
import type { FrozenPart } from '../../model/frozen.ts'
import type { Run } from '../../model/run.ts'
import type { Views } from '../views.ts'

/** Longer than any transaction may last (see `database.ts`): by then every part with a smaller number is there, ms. */
const settled = 70_000

export function postgresViews(db: Database): Views {
  const ask: Ask = async (sql, values) => db.query(placed(sql), values)
  return {
    ...viewsOn(ask),
    trends: {
      ...trendsOn(ask),
      // Other replicas read the same parts: what is read is written at once, under the lock.
      readAhead: async () => 'all',
      takeIn: async limit => db.transaction(async (session, now) => takeIn(session, now, limit)),
      prune: async () =>
        db.transaction(async (session, now) => {
          let gone = 0
          for (const step of trendSteps) {
            const sql = `${placed(takeInSql.prune)} RETURNING 1`
            gone += (await session.query(sql, [step, forgottenBefore(step, now)])).length
          }
          return gone
        }),
    },
  }
}

async function takeIn(session: Session, now: number, limit: number): Promise<number> {
  const ask: Ask = async (sql, values) => session.query(placed(sql), values)
  const [reached] = await ask(takeInSql.reached, [])
  const rows = await ask(takeInSql.parts, [reached?.part_id as number, now - settled, limit])
  const last = rows.at(-1)
  if (last === undefined) return 0
  const sums = new TrendSums()
  for (const row of rows) {
    const part = viewOf(row)
    const before = needsEarlier(part)
      ? await ask(takeInSql.earlier, [row.run_id as number, part.attempt, row.id as number])
      : []
    sums.add(part, before.map(viewOf))
  }
  for (const addition of sums.additions()) {
    const [before] = await ask(takeInSql.row, rowKey(addition))
    await ask(takeInSql.write, rowValues(addition, before))
  }
  await ask(takeInSql.move, [last.id as number])
  return rows.length
}

function viewOf(row: Row): FrozenPart {
  return JSON.parse(row.view as string) as FrozenPart
}

function placed(sql: string): string {
  return sql.replace(/\?(\d+)/g, '$$$1')
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
