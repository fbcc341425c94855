// Deployments on SQLite.
import { deploymentStatements } from '../sql/deployment-reads.ts'
import { deploymentIds, identified, selectDeploymentIds, writeDeployments } from '../sql/deployments.ts'
import {
  around,
  decideAll,
  decidedAs,
  isAnyDue,
  neighbours,
  selectDue,
  selectOne,
  totalsOf,
  writeDecided,
} from '../sql/deployment-counting.ts'
import { moveTotals } from './totals.ts'
import { places } from '../sql/statements.ts'
import { sqliteStatements } from './statements.ts'
import { taken } from './steps.ts'
import type { Database } from './database.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { Decided, Deployments, ReportedDeployment } from '../ports/deployments.ts'
import type { RunChange } from '../ports/runs.ts'
import type { StepOf } from '../sql/steps.ts'
import type { WrittenEvent } from '../sql/waiting-events.ts'

export function sqliteDeployments(db: Database, recent: RecentChunks): Deployments {
  const statements = sqliteStatements(db)
  const count = (select: (now: Millis) => StepOf, decide: Parameters<Deployments['count']>[1]): Decided[] =>
    db.transaction(() => {
      const now = db.now()
      const [sql, values] = select(now)
      const rows = db.prepare(sql).all(...values)
      const around = rows.map(row => taken(db, neighbours(row, db.damaged)))
      const decided = decideAll(rows, around, db.damaged, decide)
      const written = decided.flatMap(one => taken(db, writeDecided(one, now, db.damaged)))
      moveTotals(db, totalsOf(decided), now)
      db.afterCommit(() => recent.remember(written))
      return decided.map(decidedAs)
    })
  return {
    ...deploymentStatements(statements),
    countDue: async (limit, decide) =>
      (await isAnyDue(statements, 'together', db.now())) ? count(now => selectDue(now, limit, ''), decide) : [],
    around: async id => taken(db, around(id, db.damaged)),
    count: async (id, decide) => count(() => selectOne(id), decide)[0],
  }
}

/** Within a transaction. */
export function addDeployments(db: Database, reported: readonly ReportedDeployment[], now: Millis): WrittenEvent[] {
  return taken(db, writeDeployments(reported, now, db.damaged, ''))
}

/** Adds the platform's ids of the deployments that its jobs made, if events have reported them before, or `reported` has them. */
export function withDeploymentIds(db: Database, change: RunChange, reported: readonly ReportedDeployment[]): RunChange {
  const jobs = (change.deployments ?? []).flatMap(({ deployment: { jobId } }) => jobId ?? [])
  if (jobs.length === 0) return change
  const rows = db.prepare(`${selectDeploymentIds} (${places(jobs, 1)})`).all(change.run.key.instance, ...jobs)
  return identified(change, [...rows.map(deploymentIds), ...reported.map(({ deployment }) => deployment)])
}
