// Figures over time on SQLite: read ahead while the chunks of new snapshots are still in memory, and written for many chunks at once.
import { aheadOf, pruneFigures, readAhead, writeAhead, type Ahead } from '../read-models/trend-steps.ts'
import { number } from '../sql/columns.ts'
import { PipelineNames } from '../read-models/pipeline-names.ts'
import { rowsInMemory } from '../read-models/trends-sql.ts'
import { execute, sqliteStatements } from './statements.ts'
import { StoreError } from '../../lib/fault.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { TrendViews } from '../ports/trends.ts'

export interface TrendTaking extends Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  /** Before the newest chunk may be pruned: SQLite reuses its id, so no sums may be read but not written. */
  writeAhead(): void
}

export function sqliteTrendTaking(db: Database, recent: RecentChunks): TrendTaking {
  let ahead: Ahead | undefined
  const names = new PipelineNames()

  /** One writer at a time: no chunk with a smaller id can appear later. */
  function read(own: Ahead, limit: number): number {
    const range = { until: Number.MAX_SAFE_INTEGER, limit, recall: recent.takeOfRun }
    return execute(db, readAhead(own, range, db.damaged))
  }

  function take(limit: number): number {
    const count = db.transaction(() => {
      const from = reached(db)
      // If another process has counted these chunks meanwhile, they are read again.
      const own = ahead?.from === from ? ahead : aheadOf(from, names)
      const count = read(own, limit)
      if (own.last > from) execute(db, writeAhead(own, db.damaged))
      return count
    })
    ahead = undefined
    return count
  }

  /** Checked first, so that an idle daemon begins no transactions, which would be synced. */
  function isAnyNew(): boolean {
    const from = reached(db)
    const last = ahead?.from === from ? ahead.last : from
    return last > from || db.prepare('SELECT 1 FROM chunks WHERE id > ?1 LIMIT 1').get(last) !== undefined
  }

  return {
    readAhead: async limit => {
      ahead ??= aheadOf(reached(db), names)
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      const count = read(ahead, limit)
      if (ahead.sums.size >= rowsInMemory) return 'enough'
      return count === limit ? 'more' : 'all'
    },
    takeIn: async limit => (isAnyNew() ? take(limit) : 0),
    writeAhead: () => {
      try {
        if (ahead !== undefined) take(0)
      } catch (error) {
        // Sums that cannot be written, as on a full disk, are read again.
        ahead = undefined
        if (!(error instanceof StoreError)) throw error
      }
    },
    prune: async keep => sqliteStatements(db).transaction(within => pruneFigures(keep, within)),
  }
}

const chunkId = number('chunk_id')

function reached(db: Database): number {
  const row = db.prepare('SELECT chunk_id FROM trends_reached WHERE id = 1').get()
  return row === undefined ? 0 : chunkId(row)
}
