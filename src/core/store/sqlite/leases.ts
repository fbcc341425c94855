// Leases of deliveries, runs and outbox entries on SQLite. Only one process serves a file, so they are in memory: stored in the rows, each
// lease would rewrite the row, with its body, and need a commit. They end with the process. Times are monotonic (`Database.elapsed`).
import { queueTables } from '../sql/leased-queue.ts'
import { forGood } from '../sql/too-far-ahead.ts'
import type { Database } from './database.ts'

export interface Leases {
  /** The end of its last lease; 0 if it was never leased. */
  until(id: number): number
  /** `token`: proves later, in `isOf`, that the lease is still the caller's. */
  lease(id: number, until: number, token?: string): void
  /** True while no other lease was granted since, even after its end. */
  isOf(id: number, token: string): boolean
  /** To be called when the item was processed or settled. */
  forget(id: number): void
  /** Forgets all expired leases. Only for leases without tokens. */
  expire(now: number): void
  /** The earliest end of a lease; undefined without any. */
  nextFree(): number | undefined
  /** Those that are not forgotten, including those that have ended. */
  ids(): number[]
  readonly size: number
}

export function createLeases(): Leases {
  const leases = new Map<number, { readonly token: string; readonly until: number }>()
  return {
    until: id => leases.get(id)?.until ?? 0,
    lease: (id, until, token = '') => {
      leases.set(id, { token, until })
    },
    isOf: (id, token) => leases.get(id)?.token === token,
    forget: id => {
      leases.delete(id)
    },
    expire: now => {
      for (const [id, { until }] of leases) if (until <= now) leases.delete(id)
    },
    nextFree: () => {
      const [first, ...others] = leases.values()
      return first && others.reduce((earliest, { until }) => Math.min(earliest, until), first.until)
    },
    ids: () => [...leases.keys()],
    get size() {
      return leases.size
    },
  }
}

/** The parameter: the store's time, ms. */
const givenBack = (queues: readonly string[]): readonly string[] => [
  // In a file that was copied from PostgreSQL.
  `UPDATE outbox SET due_at = ?1, lease = NULL WHERE state = 'pending' AND lease IS NOT NULL`,
  ...queues.map(table => `UPDATE ${table} SET due_at = ?1, leased = 0 WHERE leased = 1 AND due_at IS NOT NULL`),
  // Polling, flushing metrics, maintenance and the like. The permanent lease that marks an unfinished copy stays.
  `DELETE FROM leases WHERE until < ?1 + ${forGood}`,
]

/** `queues`: those of features. At the start, ends all leases that are stored in rows: their holder has crashed, and nothing must wait for them to expire. */
export function giveBackLeases(db: Database, queues: readonly string[]): void {
  for (const sql of givenBack([...queueTables, ...queues])) db.prepare(sql).run(db.now())
}
