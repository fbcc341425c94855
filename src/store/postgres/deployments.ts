// Deployments on PostgreSQL.
import { deploymentIds, identified, selectDeploymentIds } from '../sql/deployments.ts'
import { placed } from './statements.ts'
import type { ReportedDeployment } from '../ports/deployments.ts'
import type { Session } from './database.ts'
import type { Written } from './run-writes.ts'

/** With the platform's numbers of what their jobs deployed, as far as they are known: `reported` in the same transaction, or before. */
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
