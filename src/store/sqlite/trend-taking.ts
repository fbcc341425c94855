// Figures over time on SQLite: read ahead while the chunks of new snapshots are still in memory, and written for many chunks at once.
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  counted,
  countedChunk,
  forgottenBefore,
  rowKey,
  rowsInMemory,
  rowValues,
  takeInSql,
  trendSteps,
} from '../read-models/trends-sql.ts'
import { number, optional, record } from '../sql/columns.ts'
import { StoreError } from '../../lib/fault.ts'
import { EarlierFailures } from '../read-models/earlier-failures.ts'
import { addCost, costValues, pruneCosts } from '../read-models/costs-sql.ts'
import { PipelineNames } from '../read-models/pipeline-names.ts'
import {
  sectionDayKey,
  sectionsForgottenBefore,
  sectionSql,
  sectionValues,
} from '../read-models/section-figures-sql.ts'
import { TrendSums, type Addition } from '../read-models/trend-sums.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import { day, type TrendViews } from '../ports/trends.ts'
import type { Value } from '../sql/statements.ts'

/** Read and not yet written: the chunks after `from` up to `last`. */
interface Ahead {
  readonly from: number
  last: number
  readonly sums: TrendSums
  readonly failures: EarlierFailures
}

export interface TrendTaking extends Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  /** Before chunks are pruned: SQLite gives the ids of the newest again, so nothing may be read and not written. */
  writeAhead(): void
}

export function sqliteTrendTaking(db: Database, recent: RecentChunks): TrendTaking {
  let ahead: Ahead | undefined
  const names = new PipelineNames()
  const startAt = (from: number): Ahead => {
    return { from, last: from, sums: new TrendSums(names), failures: new EarlierFailures() }
  }

  /** Reads on, and adds up what it read. Should somebody else have taken in what was read before, that is read anew. */
  function readOn(limit: number): { readonly own: Ahead; readonly count: number } {
    const from = reached(db)
    const own = ahead?.from === from ? ahead : startAt(from)
    ahead = own
    return { own, count: read(db, recent, own, limit) }
  }

  /** `rows`: of what was read up to `last`. False if more was read since, or somebody else has taken it in: then it is read anew. */
  function write(own: Ahead, last: number, rows: readonly Value[][]): boolean {
    const isOurs = db.transaction(() => {
      if (own.last !== last || reached(db) !== own.from) return false
      if (own.last > own.from) writeAll(db, own, rows)
      return true
    })
    ahead = undefined
    return isOurs
  }

  /** The rows are made in several turns of the event loop, as that takes longer than writing them. */
  async function takeIn(limit: number): Promise<number> {
    for (;;) {
      const { own, count } = readOn(limit)
      const { last } = own
      const rows: Value[][] = []
      for (const some of inParts(own.sums.additions())) {
        rows.push(...some.map(addition => newRow(db, addition)))
        await nextTurn()
        // Written by `writeAhead`.
        if (ahead !== own) return count
      }
      if (write(own, last, rows)) return count
    }
  }

  return {
    readAhead: async limit => {
      ahead ??= startAt(reached(db))
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      const count = read(db, recent, ahead, limit)
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      return count === limit ? 'more' : 'all'
    },
    takeIn,
    writeAhead: () => {
      try {
        if (ahead === undefined) return
        const { own } = readOn(0)
        write(
          own,
          own.last,
          own.sums.additions().map(addition => newRow(db, addition)),
        )
      } catch (error) {
        // What cannot be written, as on a full disk, is read once more.
        ahead = undefined
        if (!(error instanceof StoreError)) throw error
      }
    },
    prune: async keep =>
      db.transaction(() =>
        trendSteps.reduce(
          (sum, step) =>
            sum + Number(db.prepare(takeInSql.prune).run(step, forgottenBefore(step, db.now(), keep)).changes),
          Number(db.prepare(pruneCosts).run(forgottenBefore(day, db.now(), keep)).changes) +
            Number(db.prepare(sectionSql.prune).run(sectionsForgottenBefore(db.now(), keep)).changes),
        ),
      ),
  }
}

const idOf = number('id')
const chunkId = number('chunk_id')
const chunkOfRun = record({ id: idOf, run: optional(number, 'run_id'), inside: optional(number, 'inside') })

function reached(db: Database): number {
  const row = db.prepare('SELECT chunk_id FROM trends_reached WHERE id = 1').get()
  return row === undefined ? 0 : chunkId(row)
}

/** One writer at a time: no chunk with a smaller id can appear later. Answers how many chunks it read, one at least if there is one. */
function read(db: Database, recent: RecentChunks, ahead: Ahead, limit: number): number {
  const rows = db.prepare(takeInSql.ids).all(ahead.last, limit).map(chunkOfRun)
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  let count = 0
  for (const { id, run, inside } of rows) {
    if (count > 0 && ahead.sums.size >= rowsInMemory) break
    count += 1
    ahead.last = id
    if (run === undefined) continue
    if (inside !== undefined) {
      const read = recent.recallOfRun(id) ?? sectionChunk(db, id)
      if (read !== undefined) counted(db.damaged, id, () => ahead.sums.sections.add(read))
      continue
    }
    const chunk = recent.recallOfRun(id) ?? countedChunk(db.damaged, id, content.get(id)?.content)
    if (chunk === undefined) continue
    if (ahead.failures.isMissing(run, chunk)) {
      for (const row of db.prepare(takeInSql.earlier).iterate(run, id)) {
        const earlier = countedChunk(db.damaged, idOf(row), row.content)
        if (earlier !== undefined) ahead.failures.add(earlier)
      }
    }
    counted(db.damaged, id, () => {
      ahead.failures.add(chunk)
      ahead.sums.add(chunk, ahead.failures.upTo(chunk.attempt))
    })
  }
  return count
}

/** What else was read about the inside of jobs may be large: it is passed over unread. */
function sectionChunk(db: Database, id: number): Chunk | undefined {
  const row = db.prepare(`SELECT content FROM chunks WHERE id = ? AND instr(content, ',"sections":[') > 0`).get(id)
  return row && countedChunk(db.damaged, id, row.content)
}

/** Rows made in one turn of the event loop: a millisecond or two. */
const madeAtOnce = 200

function* inParts(additions: readonly Addition[]): Generator<readonly Addition[]> {
  for (let first = 0; first < additions.length; first += madeAtOnce) yield additions.slice(first, first + madeAtOnce)
}

/** What is stored and what is added to it. Nobody else writes these rows until the place that was reached moves. */
function newRow(db: Database, addition: Addition): Value[] {
  return rowValues(addition, db.prepare(takeInSql.row).get(...rowKey(addition)), db.damaged)
}

function writeAll(db: Database, { last, sums }: Ahead, rows: readonly Value[][]): void {
  const one = db.prepare(takeInSql.write)
  for (const row of rows) one.run(...row)
  for (const row of sums.costs.rows()) db.prepare(addCost).run(...costValues(row))
  for (const one of sums.sections.days()) {
    const known = db.prepare(sectionSql.known).all(...sectionDayKey(one))
    for (const values of sectionValues(one, known, db.damaged)) db.prepare(sectionSql.write).run(...values)
  }
  db.prepare(takeInSql.reached).get()
  db.prepare(takeInSql.move).run(last)
}
