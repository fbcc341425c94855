// Deployments on PostgreSQL.
import { allTaken, lockNames, taken } from './steps.ts'
import {
  around,
  decideAll,
  decidedAs,
  isAnyDue,
  lockOf,
  neighbours,
  selectDue,
  selectOne,
  totalsOf,
  writeDecided,
} from '../sql/deployment-counting.ts'
import { deploymentStatements } from '../sql/deployment-reads.ts'
import { deploymentIds, identified, selectDeploymentIds } from '../sql/deployments.ts'
import { moveTotals } from './totals.ts'
import { placed, postgresStatements } from './statements.ts'
import type { Database, Session } from './database.ts'
import type { Decided, Deployments, ReportedDeployment } from '../ports/deployments.ts'
import type { Millis } from '../../model/instant.ts'
import type { StepOf } from '../sql/steps.ts'
import type { Written } from './run-writes.ts'

export function postgresDeployments(db: Database): Deployments {
  const statements = postgresStatements(db)
  const count = async (
    select: (now: Millis) => StepOf,
    decide: Parameters<Deployments['count']>[1],
  ): Promise<Decided[]> =>
    db.transaction(async (session, now) => {
      const [sql, values] = select(now)
      const rows = await session.query(placed(sql), values)
      // Of one environment only one replica counts at a time, so that it sees what was counted before. Rows are locked first, then environments, then totals.
      await lockNames(session, rows.map(lockOf))
      const beside = rows.map(row => neighbours(row, session.damaged))
      const decided = decideAll(rows, await allTaken(session, beside), session.damaged, decide)
      const written = decided.map(one => writeDecided(one, now, session.damaged, 'at once'))
      await allTaken(session, written)
      await moveTotals(session, totalsOf(decided), now)
      return decided.map(decidedAs)
    })
  return {
    ...deploymentStatements(statements),
    countDue: async (limit, decide) =>
      (await isAnyDue(statements, 'together', await db.now()))
        ? count(now => selectDue(now, limit, statements.skipLocked), decide)
        : [],
    around: async id => db.transaction(async session => taken(session, around(id, session.damaged))),
    count: async (id, decide) => (await count(() => selectOne(id, 'FOR UPDATE'), decide))[0],
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
