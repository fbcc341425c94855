// Runs on SQLite: one process serves the file, so leases are in its memory.
import { changeRuns, type OnChanged } from '../sql/runs.ts'
import { createLeases } from './leases.ts'
import { keyOf } from '../sql/run-rows.ts'
import { number, record } from '../sql/columns.ts'
import { runReads } from '../sql/run-reads.ts'
import { execute, sqliteStatements, withinOf } from './statements.ts'
import { takeIn } from '../sql/take-in.ts'
import type { Database } from './database.ts'
import type { Steps, Within } from '../sql/steps.ts'
import type { Runs } from '../ports/runs.ts'

export function sqliteRuns(db: Database): Runs {
  const leased = createLeases()
  /** Runs the steps in a transaction; the leases of what they changed end with it. */
  function inTransaction<T>(steps: (onChanged: OnChanged, within: Within) => Steps<T>): T {
    return db.transaction(() => {
      const changed: number[] = []
      const result = execute(
        db,
        steps(id => changed.push(id), withinOf(db)),
      )
      db.afterCommit(() => {
        for (const id of changed) leased.forget(id)
      })
      return result
    })
  }
  return {
    takeIn: async taking => {
      // What would be lost with the process must not be acknowledged.
      db.proveInPlace()
      return inTransaction((onChanged, within) => takeIn(taking, onChanged, within))
    },
    transact: async (work, beside = {}) =>
      inTransaction((onChanged, within) => changeRuns(work, beside, onChanged, within)),
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
