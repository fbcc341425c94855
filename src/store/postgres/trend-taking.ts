// Figures over time on PostgreSQL: several replicas take snapshots at the same time, and one at a time counts their chunks.
import { setTimeout as sleep } from 'node:timers/promises'
import { aheadOf, pruneFigures, readAhead, writeAhead } from '../read-models/trend-steps.ts'
import { number } from '../sql/columns.ts'
import { PipelineNames } from '../read-models/pipeline-names.ts'
import { postgresStatements } from './statements.ts'
import { takeInSql } from '../read-models/trends-sql.ts'
import type { Database } from './database.ts'
import type { TrendViews } from '../ports/trends.ts'

/** No chunk up to `last` can still appear once all transactions before `after` have ended. */
interface Reach {
  readonly last: number
  readonly after: number
}

/** Transactions usually end within milliseconds: the number of checks for them, and the pause between two, ms. */
const looks = { most: 40, pause: 25 }

export function postgresTrendTaking(db: Database): Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'> {
  const sql = postgresStatements(db)
  const names = new PipelineNames()
  let next: Reach | undefined
  return {
    // Other replicas read the same chunks, so sums are written at once, under the lock.
    readAhead: async () => 'all',
    takeIn: async limit => {
      const own = next ?? (await reach(db))
      next = own
      if (!(await isReached(db, own))) return 0
      const count = await sql.transaction(function* ({ damaged }) {
        const [reached] = yield [takeInSql.reached, []]
        const ahead = aheadOf(number('chunk_id')(reached ?? {}), names)
        const count = yield* readAhead(ahead, { until: own.last, limit }, damaged)
        if (count > 0) yield* writeAhead(ahead, damaged)
        return count
      })
      if (count < limit && next === own) next = undefined
      return count
    },
    prune: async keep => sql.transaction(within => pruneFigures(keep, within)),
  }
}

/**
 * A chunk's id is assigned before its transaction commits, so a smaller id may appear after a greater one. Two
 * statements, in this order: every transaction that had an id at the first is visible to the second.
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
