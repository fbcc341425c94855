// Deployments on PostgreSQL.
import { around, countDeployment, deploymentStatements, environmentOf } from '../sql/deployment-counting.ts'
import { deploymentIds, identified, selectDeploymentIds } from '../sql/deployments.ts'
import { lockNames, taken } from './steps.ts'
import { moveTotals } from './totals.ts'
import { placed, postgresStatements } from './statements.ts'
import type { Database, Session } from './database.ts'
import type { Deployments, ReportedDeployment } from '../ports/deployments.ts'
import type { Written } from './run-writes.ts'

export function postgresDeployments(db: Database): Deployments {
  return {
    ...deploymentStatements(postgresStatements(db)),
    around: async id => db.transaction(async session => taken(session, around(id, session.damaged))),
    count: async (id, decide) =>
      db.transaction(async (session, now) => {
        // Deployments of one environment are counted one after the other, so that each sees those counted before.
        const environment = await taken(session, environmentOf(id))
        if (environment === undefined) return false
        await lockNames(session, [environment])
        const done = await taken(session, countDeployment(id, now, session.damaged, decide))
        if (done === undefined) return false
        const { counted } = done
        if (counted !== 'nothing' && counted.totals !== undefined) await moveTotals(session, [counted.totals], now)
        return true
      }),
  }
}

/** Adds the platform's ids of the deployments that their jobs made, if events have reported them before, or `reported` has them. */
export async function withDeploymentIds(
  session: Session,
  changes: readonly Written[],
  reported: readonly ReportedDeployment[],
): Promise<readonly Written[]> {
  const known = new Map<Written, Written>()
  for (const written of changes) {
    const { change } = written
    const jobs = (change.deployments ?? []).flatMap(({ deployment: { jobId } }) => jobId ?? [])
    if (jobs.length === 0) continue
    const rows = await session.query(placed(`${selectDeploymentIds} (SELECT unnest(CAST(?2 AS bigint[])))`), [
      change.run.key.instance,
      jobs,
    ])
    const ids = [...rows.map(deploymentIds), ...reported.map(({ deployment }) => deployment)]
    known.set(written, { ...written, change: identified(change, ids) })
  }
  return changes.map(written => known.get(written) ?? written)
}
