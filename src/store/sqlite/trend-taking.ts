// Figures over time on SQLite: read ahead while the chunks of new snapshots are still in memory, and written for many chunks at once.
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
import { TrendSums } from '../read-models/trend-sums.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import { day, type TrendViews } from '../ports/trends.ts'

/** Read and not yet written: the chunks after `from` up to `last`. */
interface Ahead {
  readonly from: number
  last: number
  readonly sums: TrendSums
  readonly failures: EarlierFailures
}

export interface TrendTaking extends Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  /** Before the newest chunk may be pruned: SQLite gives its id again, so nothing may be read and not written. */
  writeAhead(): void
}

export function sqliteTrendTaking(db: Database, recent: RecentChunks): TrendTaking {
  let ahead: Ahead | undefined
  const names = new PipelineNames()
  const startAt = (from: number): Ahead => {
    return { from, last: from, sums: new TrendSums(names), failures: new EarlierFailures() }
  }

  function take(limit: number): number {
    const count = db.transaction(() => {
      const from = reached(db)
      // Should somebody else have taken in what was read, it is read anew.
      const own = ahead?.from === from ? ahead : startAt(from)
      const count = read(db, recent, own, limit)
      if (own.last > from) write(db, own)
      return count
    })
    ahead = undefined
    return count
  }

  /** Asked first, so that an idle daemon begins no transaction, which would wait for a command that writes. */
  function isAnyNew(): boolean {
    const from = reached(db)
    const last = ahead?.from === from ? ahead.last : from
    return last > from || db.prepare(takeInSql.ids).get(last, 1) !== undefined
  }

  return {
    readAhead: async limit => {
      ahead ??= startAt(reached(db))
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      const count = read(db, recent, ahead, limit)
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      return count === limit ? 'more' : 'all'
    },
    takeIn: async limit => (isAnyNew() ? take(limit) : 0),
    writeAhead: () => {
      try {
        if (ahead !== undefined) take(0)
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
      const read = recent.takeOfRun(id) ?? sectionChunk(db, id)
      if (read !== undefined) counted(db.damaged, id, () => ahead.sums.sections.add(read))
      continue
    }
    const chunk = recent.takeOfRun(id) ?? countedChunk(db.damaged, id, content.get(id)?.content)
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

function write(db: Database, { last, sums }: Ahead): void {
  for (const addition of sums.additions()) {
    const before = db.prepare(takeInSql.row).get(...rowKey(addition))
    db.prepare(takeInSql.write).run(...rowValues(addition, before, db.damaged))
  }
  for (const row of sums.costs.rows()) db.prepare(addCost).run(...costValues(row))
  for (const one of sums.sections.days()) {
    const known = db.prepare(sectionSql.known).all(...sectionDayKey(one))
    for (const values of sectionValues(one, known, db.damaged)) db.prepare(sectionSql.write).run(...values)
  }
  db.prepare(takeInSql.reached).get()
  db.prepare(takeInSql.move).run(last)
}
