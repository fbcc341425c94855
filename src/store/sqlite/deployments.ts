// Deployments on SQLite.
import { deploymentIds, identified, selectDeploymentIds, writeDeployments } from '../sql/deployments.ts'
import { around, countDeployment, deploymentStatements } from '../sql/deployment-counting.ts'
import { moveTotals } from './totals.ts'
import { places } from '../sql/statements.ts'
import { sqliteStatements } from './statements.ts'
import { taken } from './steps.ts'
import type { Database } from './database.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { Deployments, ReportedDeployment } from '../ports/deployments.ts'
import type { RunChange } from '../ports/runs.ts'
import type { WrittenEvent } from '../sql/waiting-events.ts'

export function sqliteDeployments(db: Database, recent: RecentChunks): Deployments {
  return {
    ...deploymentStatements(sqliteStatements(db)),
    around: async id => taken(db, around(id, db.damaged)),
    count: async (id, decide) =>
      db.transaction(() => {
        const now = db.now()
        const done = taken(db, countDeployment(id, now, db.damaged, decide))
        if (done === undefined) return false
        const { counted, written } = done
        if (counted !== 'nothing' && counted.totals !== undefined) moveTotals(db, [counted.totals], now)
        db.afterCommit(() => recent.remember(written))
        return true
      }),
  }
}

/** Within a transaction. */
export function addDeployments(db: Database, reported: readonly ReportedDeployment[], now: Millis): WrittenEvent[] {
  return taken(db, writeDeployments(reported, now, db.damaged))
}

/** Adds the platform's ids of the deployments that its jobs made, if events have reported them before, or `reported` has them. */
export function withDeploymentIds(db: Database, change: RunChange, reported: readonly ReportedDeployment[]): RunChange {
  const jobs = (change.deployments ?? []).flatMap(({ deployment: { jobId } }) => jobId ?? [])
  if (jobs.length === 0) return change
  const rows = db.prepare(`${selectDeploymentIds} (${places(jobs, 1)})`).all(change.run.key.instance, ...jobs)
  return identified(change, [...rows.map(deploymentIds), ...reported.map(({ deployment }) => deployment)])
}
