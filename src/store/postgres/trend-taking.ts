// Figures over time on PostgreSQL: several replicas freeze at once, and one of them at a time takes in what was frozen.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  countedPart,
  forgottenBefore,
  rowKey,
  rowsHeld,
  rowValues,
  takeInSql,
  trendSteps,
  writing,
} from '../read-models/trends-sql.ts'
import { EarlierFailures } from '../read-models/earlier-failures.ts'
import { TrendSums, type Addition } from '../read-models/trend-sums.ts'
import { placed } from './statements.ts'
import type { Database, Row, Session } from './database.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Ask, Value } from '../read-models/views-sql.ts'
import type { TrendViews } from '../ports/trends.ts'

/** Of parts up to `last` none is still to come once no transaction before `after` is under way. */
interface Horizon {
  readonly last: number
  readonly after: number
}

/** Transactions under way end in milliseconds as a rule: looked at so often for them, with a pause, ms. */
const looks = { most: 40, pause: 25 }

export function postgresTrendTaking(db: Database): Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  let next: Horizon | undefined
  return {
    // Other replicas read the same parts: what is read is written at once, under the lock.
    readAhead: async () => 'all',
    takeIn: async limit => {
      next ??= await horizon(db)
      if (!(await isReached(db, next))) return 0
      const { last } = next
      const count = await db.transaction(async session => takeIn(session, last, limit))
      if (count < limit) next = undefined
      return count
    },
    prune: async () =>
      db.transaction(async (session, now) => {
        let gone = 0
        for (const step of trendSteps) {
          const sql = `${placed(takeInSql.prune)} RETURNING 1`
          gone += (await session.query(sql, [step, forgottenBefore(step, now)])).length
        }
        return gone
      }),
  }
}

/**
 * A part's number is given before its transaction is committed, so a smaller number may appear after a greater one. Two
 * statements, in this order: whoever had a number by the first is a transaction that the second knows of.
 */
async function horizon(db: Database): Promise<Horizon> {
  const [given] = await db.query('SELECT last_value AS last FROM chunks_id_seq')
  const [begun] = await db.query('SELECT txid_snapshot_xmax(txid_current_snapshot()) AS after')
  return { last: given?.last as number, after: begun?.after as number }
}

async function isReached(db: Database, { after }: Horizon): Promise<boolean> {
  for (let look = 1; look <= looks.most; look += 1) {
    const [oldest] = await db.query('SELECT txid_snapshot_xmin(txid_current_snapshot()) AS oldest')
    if ((oldest?.oldest as number) >= after) return true
    await sleep(looks.pause)
  }
  return false
}

async function takeIn(session: Session, until: number, limit: number): Promise<number> {
  const ask: Ask = async (sql, values) => session.query(placed(sql), values)
  const [reached] = await ask(takeInSql.reached, [])
  const partOf = (row: Row): Chunk | undefined => countedPart(session.damaged, row.id as number, row.content)
  const sums = new TrendSums()
  const failures = new EarlierFailures()
  let last = reached?.chunk_id as number
  let count = 0
  for await (const row of partsAfter(ask, last, until, limit)) {
    if (count > 0 && sums.size >= rowsHeld) break
    count += 1
    last = row.id as number
    const part = partOf(row)
    if (part === undefined) continue
    const run = row.run_id as number
    if (failures.isMissing(run, part)) {
      for (const before of await ask(takeInSql.earlier, [run, row.id as number])) {
        const earlier = partOf(before)
        if (earlier !== undefined) failures.tell(earlier)
      }
    }
    failures.tell(part)
    sums.add(part, failures.upTo(part.attempt))
  }
  if (count === 0) return 0
  const additions = sums.additions()
  for (let first = 0; first < additions.length; first += rowsAtOnce) {
    await add(session, additions.slice(first, first + rowsAtOnce))
  }
  await ask(takeInSql.move, [last])
  return count
}

/** Parts read at once: of large pipelines each takes hundreds of kilobytes. */
const partsAtOnce = 8

async function* partsAfter(ask: Ask, from: number, until: number, limit: number): AsyncGenerator<Row> {
  let after = from
  for (let left = limit; left > 0; left -= partsAtOnce) {
    const wanted = Math.min(left, partsAtOnce)
    const rows = await ask(takeInSql.parts, [after, until, wanted])
    yield* rows
    if (rows.length < wanted) return
    after = rows.at(-1)?.id as number
  }
}

/** The same as `takeInSql.row` and `takeInSql.write` for each: a pipeline adds to twenty rows, and each alone would be two round trips. */
async function add(session: Session, additions: readonly Addition[]): Promise<void> {
  const known = await session.query(
    `SELECT k.nth, t.runs, t.failed, t.flaky, t.total_ms, t.durations, t.queues
     FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]) WITH ORDINALITY
       AS k (step, project_id, job, bucket, instance, nth)
     JOIN trends t USING (step, project_id, job, bucket, instance)`,
    columnsOf(additions.map(rowKey)),
  )
  const before = new Map(known.map(row => [row.nth as number, row]))
  const written = additions.map((addition, at) => rowValues(addition, before.get(at + 1), session.damaged))
  await session.query(writing(writtenRows), columnsOf(written))
}

/** As many as are read and written by one statement. */
const rowsAtOnce = 1_000

const writtenRows = `SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[],
  $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[])`

/** For `unnest`, which takes an array for each column. */
function columnsOf(rows: readonly (readonly Value[])[]): Value[][] {
  return (rows[0] ?? []).map((_, column) => rows.map(row => row[column] ?? null))
}
