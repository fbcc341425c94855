// Figures over time on SQLite: read ahead from what was frozen a moment ago, written for many parts at once.
import {
  countedPart,
  forgottenBefore,
  rowKey,
  rowsHeld,
  rowValues,
  takeInSql,
  trendSteps,
} from '../read-models/trends-sql.ts'
import { StoreError } from '../../lib/fault.ts'
import { EarlierFailures } from '../read-models/earlier-failures.ts'
import { TrendSums } from '../read-models/trend-sums.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { TrendViews } from '../ports/trends.ts'

/** Read and not yet written: the parts after `from` up to `last`. */
interface Ahead {
  readonly from: number
  last: number
  readonly sums: TrendSums
  readonly failures: EarlierFailures
}

export interface TrendTaking extends Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  /** Before parts are pruned: SQLite gives the numbers of the newest again, so nothing may be read and not written. */
  writeAhead(): void
}

export function sqliteTrendTaking(db: Database, recent: RecentChunks): TrendTaking {
  let ahead: Ahead | undefined

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

  return {
    readAhead: async limit => {
      ahead ??= startAt(reached(db))
      if (ahead.sums.size >= rowsHeld) return 'enough'
      const count = read(db, recent, ahead, limit)
      if (ahead.sums.size >= rowsHeld) return 'enough'
      return count === limit ? 'more' : 'all'
    },
    takeIn: async limit => take(limit),
    writeAhead: () => {
      try {
        if (ahead !== undefined) take(0)
      } catch (error) {
        // What cannot be written, as on a full disk, is read once more.
        ahead = undefined
        if (!(error instanceof StoreError)) throw error
      }
    },
    prune: async () =>
      db.transaction(() =>
        trendSteps.reduce(
          (sum, step) => sum + Number(db.prepare(takeInSql.prune).run(step, forgottenBefore(step, db.now())).changes),
          0,
        ),
      ),
  }
}

function startAt(from: number): Ahead {
  return { from, last: from, sums: new TrendSums(), failures: new EarlierFailures() }
}

function reached(db: Database): number {
  return (db.prepare('SELECT chunk_id FROM trends_reached WHERE id = 1').get()?.chunk_id ?? 0) as number
}

/** One writer at a time: no part with a smaller number can appear later. Answers how many parts it read, one at least if there is one. */
function read(db: Database, recent: RecentChunks, ahead: Ahead, limit: number): number {
  const rows = db.prepare(takeInSql.numbers).all(ahead.last, limit) as { id: number; run_id: number }[]
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  let count = 0
  for (const { id, run_id: run } of rows) {
    if (count > 0 && ahead.sums.size >= rowsHeld) break
    count += 1
    ahead.last = id
    const part = recent.recall(id)?.chunk ?? countedPart(db.damaged, id, content.get(id)?.content)
    if (part === undefined) continue
    if (ahead.failures.isMissing(run, part)) {
      for (const row of db.prepare(takeInSql.earlier).iterate(run, id)) {
        const earlier = countedPart(db.damaged, row.id as number, row.content)
        if (earlier !== undefined) ahead.failures.tell(earlier)
      }
    }
    ahead.failures.tell(part)
    ahead.sums.add(part, ahead.failures.upTo(part.attempt))
  }
  return count
}

function write(db: Database, { last, sums }: Ahead): void {
  for (const addition of sums.additions()) {
    const before = db.prepare(takeInSql.row).get(...rowKey(addition))
    db.prepare(takeInSql.write).run(...rowValues(addition, before, db.damaged))
  }
  db.prepare(takeInSql.reached).get()
  db.prepare(takeInSql.move).run(last)
}
