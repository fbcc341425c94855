// Figures over time on PostgreSQL: several replicas take snapshots at once, and one of them at a time counts their chunks.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  counted,
  countedChunk,
  forgottenBefore,
  rowKey,
  rowsInMemory,
  rowValues,
  takeInSql,
  trendSteps,
  writing,
} from '../read-models/trends-sql.ts'
import { EarlierFailures } from '../read-models/earlier-failures.ts'
import { addingCosts, costTypes, costValues, pruneCosts } from '../read-models/costs-sql.ts'
import { PipelineNames } from '../read-models/pipeline-names.ts'
import {
  sectionDayColumns,
  sectionDayKey,
  sectionDayTypes,
  sectionsForgottenBefore,
  sectionSql,
  sectionTypes,
  sectionValues,
  writingSections,
} from '../read-models/section-figures-sql.ts'
import { TrendSums, type Addition } from '../read-models/trend-sums.ts'
import { columnsOf, unnest } from './arrays.ts'
import { number, type Row } from '../sql/columns.ts'
import { placed } from './arrays.ts'
import type { Database, Session } from './database.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { SectionsOfDay } from '../read-models/section-sums.ts'
import type { Ask } from '../read-models/ask.ts'
import { day, type TrendViews } from '../ports/trends.ts'

const idOf = number('id')
const runId = number('run_id')

/** Of chunks up to `last` none is still to come once no transaction before `after` is under way. */
interface Reach {
  readonly last: number
  readonly after: number
}

/** Transactions under way end in milliseconds as a rule: looked at so often for them, with a pause, ms. */
const looks = { most: 40, pause: 25 }

export function postgresTrendTaking(db: Database): Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  let next: Reach | undefined
  const names = new PipelineNames()
  return {
    // Other replicas read the same chunks: what is read is written at once, under the lock.
    readAhead: async () => 'all',
    takeIn: async limit => {
      const own = next ?? (await reach(db))
      next = own
      if (!(await isReached(db, own))) return 0
      const count = await db.transaction(async session => takeIn(session, { names, until: own.last, limit }))
      if (count < limit && next === own) next = undefined
      return count
    },
    prune: async keep =>
      db.transaction(async (session, now) => {
        const old = await session.query(`${placed(pruneCosts)} RETURNING 1`, [forgottenBefore(day, now, keep)])
        const sections = [sectionsForgottenBefore(now, keep)]
        let gone = old.length + (await session.query(`${placed(sectionSql.prune)} RETURNING 1`, sections)).length
        for (const step of trendSteps) {
          const sql = `${placed(takeInSql.prune)} RETURNING 1`
          gone += (await session.query(sql, [step, forgottenBefore(step, now, keep)])).length
        }
        return gone
      }),
  }
}

/**
 * A chunk's id is given before its transaction is committed, so a smaller id may appear after a greater one. Two
 * statements, in this order: whoever had an id by the first is a transaction that the second knows of.
 */
async function reach(db: Database): Promise<Reach> {
  const [given] = await db.query('SELECT last_value AS last FROM chunks_id_seq')
  const [begun] = await db.query('SELECT txid_snapshot_xmax(txid_current_snapshot()) AS after')
  return { last: number('last')(given ?? {}), after: number('after')(begun ?? {}) }
}

async function isReached(db: Database, { after }: Reach): Promise<boolean> {
  for (let look = 1; look <= looks.most; look += 1) {
    const [oldest] = await db.query('SELECT txid_snapshot_xmin(txid_current_snapshot()) AS oldest')
    if (number('oldest')(oldest ?? {}) >= after) return true
    await sleep(looks.pause)
  }
  return false
}

interface Taking {
  readonly names: PipelineNames
  readonly until: number
  readonly limit: number
}

async function takeIn(session: Session, { names, until, limit }: Taking): Promise<number> {
  const ask: Ask = async (sql, values) => session.query(placed(sql), values)
  const [reached] = await ask(takeInSql.reached, [])
  const chunkOf = (row: Row): Chunk | undefined => countedChunk(session.damaged, idOf(row), row.content)
  const sums = new TrendSums(names)
  const failures = new EarlierFailures()
  let last = number('chunk_id')(reached ?? {})
  let count = 0
  for await (const row of chunksAfter(ask, last, until, limit)) {
    if (count > 0 && sums.size >= rowsInMemory) break
    count += 1
    last = idOf(row)
    if (row.content === null) continue
    const chunk = chunkOf(row)
    if (chunk === undefined) continue
    if (chunk.inside !== undefined) {
      counted(session.damaged, last, () => sums.sections.add(chunk))
      continue
    }
    const run = runId(row)
    if (failures.isMissing(run, chunk)) {
      for (const before of await ask(takeInSql.earlier, [run, last])) {
        const earlier = chunkOf(before)
        if (earlier !== undefined) failures.add(earlier)
      }
    }
    counted(session.damaged, last, () => {
      failures.add(chunk)
      sums.add(chunk, failures.upTo(chunk.attempt))
    })
  }
  if (count === 0) return 0
  const additions = sums.additions()
  for (let first = 0; first < additions.length; first += rowsAtOnce) {
    await add(session, additions.slice(first, first + rowsAtOnce))
  }
  const costs = sums.costs.rows()
  for (let first = 0; first < costs.length; first += rowsAtOnce) {
    await session.query(writeCosts, columnsOf(costs.slice(first, first + rowsAtOnce).map(costValues)))
  }
  await addSections(session, sums.sections.days())
  await ask(takeInSql.move, [last])
  return count
}

/** Chunks read at once: of large pipelines each takes hundreds of kilobytes. */
const chunksAtOnce = 8

async function* chunksAfter(ask: Ask, from: number, until: number, limit: number): AsyncGenerator<Row> {
  let after = from
  for (let left = limit; left > 0; left -= chunksAtOnce) {
    const wanted = Math.min(left, chunksAtOnce)
    const rows = await ask(takeInSql.chunks, [after, until, wanted])
    yield* rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < wanted) return
    after = idOf(end)
  }
}

const keyTypes = ['bigint', 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'text'] as const
const keyColumns = 'step, project_id, job, bucket, instance, branch, source, pipeline_name'

/** The same as `takeInSql.row` and `takeInSql.write` for each: a pipeline adds to twenty rows, and each alone would be two round trips. */
async function add(session: Session, additions: readonly Addition[]): Promise<void> {
  const known = await session.query(
    `SELECT k.nth, t.runs, t.failed, t.flaky, t.total_ms, t.durations, t.queues
     FROM ${unnest(keyTypes)} WITH ORDINALITY AS k (${keyColumns}, nth)
     JOIN trends t USING (${keyColumns})`,
    columnsOf(additions.map(rowKey)),
  )
  const before = new Map(known.map(row => [number('nth')(row), row]))
  const written = additions.map((addition, at) => rowValues(addition, before.get(at + 1), session.damaged))
  await session.query(writeRows, columnsOf(written))
}

/** A round trip for what is known of all of them, and one to write them. */
async function addSections(session: Session, days: readonly SectionsOfDay[]): Promise<void> {
  if (days.length === 0) return
  const rows = await session.query(
    `SELECT k.nth, f.section, f.runs, f.failed, f.durations
     FROM ${unnest(sectionDayTypes)} WITH ORDINALITY AS k (${sectionDayColumns}, nth)
     JOIN section_figures f USING (${sectionDayColumns})`,
    columnsOf(days.map(sectionDayKey)),
  )
  const known = Map.groupBy(rows, number('nth'))
  const written = days.flatMap((one, at) => sectionValues(one, known.get(at + 1) ?? [], session.damaged))
  if (written.length > 0) await session.query(writeSections, columnsOf(written))
}

const writeSections = writingSections(`SELECT * FROM ${unnest(sectionTypes)}`)

/** As many as are read and written by one statement. */
const rowsAtOnce = 1_000

const writeCosts = addingCosts(`SELECT * FROM ${unnest(costTypes)}`)

const writeRows = writing(
  `SELECT * FROM ${unnest([
    ...keyTypes,
    ...(['text', 'bigint', 'bigint', 'bigint', 'bigint', 'text', 'text'] as const),
  ])}`,
)
