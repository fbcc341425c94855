// Runs on SQLite: one process serves the file, so leases and recent chunks are in its memory.
import { changeRuns, type RunMemory } from '../sql/runs.ts'
import { createLeases } from './leases.ts'
import { keyOf } from '../sql/run-rows.ts'
import { maxText, newestWorth, type RecentChunk, type RecentChunks } from './recent-chunks.ts'
import { number, record } from '../sql/columns.ts'
import { runReads } from '../sql/run-reads.ts'
import { execute, sqliteStatements, withinOf } from './statements.ts'
import { takeIn } from '../sql/take-in.ts'
import type { Database } from './database.ts'
import type { Steps, Within } from '../sql/steps.ts'
import type { Runs } from '../ports/runs.ts'

export function sqliteRuns(db: Database, recent: RecentChunks): Runs {
  const leased = createLeases()
  /** Runs the steps in a transaction; what they wrote is in memory once it is on the disk. */
  function inTransaction<T>(steps: (memory: RunMemory, within: Within) => Steps<T>): T {
    return db.transaction(() => {
      const changed: number[] = []
      const written: RecentChunk[] = []
      const memory: RunMemory = {
        wrote: chunks => {
          written.push(...chunks)
          // No more than the cache can take, so that a large transaction does not fill the memory.
          written.splice(0, written.length - newestWorth(maxText, written))
        },
        changed: id => changed.push(id),
      }
      const result = execute(db, steps(memory, withinOf(db)))
      db.afterCommit(() => {
        for (const id of changed) leased.forget(id)
        recent.remember(written)
      })
      return result
    })
  }
  return {
    takeIn: async taking => {
      // What would be lost with the process must not be acknowledged.
      db.proveInPlace()
      return inTransaction((memory, within) => takeIn(taking, memory, within))
    },
    transact: async (work, reports) => inTransaction((memory, within) => changeRuns(work, reports, memory, within)),
    // Leases are in memory: storing them would rewrite the row of the run.
    takeDue: async (limit, leaseMs) => {
      const at = db.elapsed()
      leased.expire(at)
      const rows = db
        .prepare('SELECT id, instance, pipeline_id FROM runs WHERE due_at <= ? ORDER BY due_at LIMIT ?')
        .all(db.now(), limit + leased.size)
      const free = rows.filter(row => leased.until(idOf(row)) <= at).slice(0, limit)
      for (const row of free) leased.lease(idOf(row), at + leaseMs)
      return free.map(keyOf)
    },
    dueIn: async () => {
      const at = db.elapsed()
      const rows = db
        .prepare('SELECT id, due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?')
        .all(leased.size + 1)
      const free = rows.map(due).find(({ id }) => leased.until(id) <= at)?.at ?? Infinity
      const pause = Math.min(free - db.now(), (leased.nextFree() ?? Infinity) - at)
      return pause === Infinity ? undefined : Math.max(0, pause)
    },
    ...runReads(sqliteStatements(db)),
  }
}

const idOf = number('id')
const due = record({ id: number('id'), at: number('due_at') })
