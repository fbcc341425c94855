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
import { StoreError } from '../../lib/fault.ts'
import type { Database } from './database.ts'
import type { DeploymentLists } from './deployment-lists.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { Decided, Deployments, ReportedDeployment } from '../ports/deployments.ts'
import type { RunChange } from '../ports/runs.ts'
import type { StepOf } from '../sql/steps.ts'
import type { WrittenEvent } from '../sql/waiting-events.ts'

export function sqliteDeployments(db: Database, recent: RecentChunks, lists: DeploymentLists): Deployments {
  const statements = sqliteStatements(db)
  const count = (select: (now: Millis) => StepOf, decide: Parameters<Deployments['count']>[1]): Decided[] =>
    db.transaction(() => {
      const now = db.now()
      const [sql, values] = select(now)
      const rows = db.prepare(sql).all(...values)
      const around = rows.map(row => taken(db, neighbours(row, db.damaged)))
      const decided = decideAll(rows, around, db.damaged, decide)
      const written = decided.flatMap(one => taken(db, writeDecided(one, now, db.damaged, 'later')))
      lists.add(decided.length)
      lists.listMany()
      moveTotals(db, totalsOf(decided), now)
      db.afterCommit(() => recent.remember(written))
      return decided.map(decidedAs)
    })
  const { list, current, prune, ...others } = deploymentStatements(statements)
  return {
    ...others,
    list: async query => upToDate(lists, async () => list(query)),
    current: async query => upToDate(lists, async () => current(query)),
    prune: async (before, limit) => upToDate(lists, async () => prune(before, limit)),
    countDue: async (limit, decide) =>
      (await isAnyDue(statements, 'together', db.now())) ? count(now => selectDue(now, limit, ''), decide) : [],
    around: async id => taken(db, around(id, db.damaged)),
    count: async (id, decide) => count(() => selectOne(id), decide)[0],
  }
}

/** If nothing can be written, as on a full disk, the lists are read as they are. */
async function upToDate<T>(lists: DeploymentLists, read: () => Promise<T>): Promise<T> {
  try {
    lists.catchUp()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
  return read()
}

/** Within a transaction. */
export function addDeployments(
  db: Database,
  lists: DeploymentLists,
  reported: readonly ReportedDeployment[],
  now: Millis,
): WrittenEvent[] {
  lists.add(reported.length)
  return taken(db, writeDeployments(reported, now, db.damaged, { lock: '', listing: 'later' }))
}

/** Adds the platform's ids of the deployments that its jobs made, if events have reported them before, or `reported` has them. */
export function withDeploymentIds(db: Database, change: RunChange, reported: readonly ReportedDeployment[]): RunChange {
  const jobs = (change.deployments ?? []).flatMap(({ deployment: { jobId } }) => jobId ?? [])
  if (jobs.length === 0) return change
  const rows = db.prepare(`${selectDeploymentIds} (${places(jobs, 1)})`).all(change.run.key.instance, ...jobs)
  return identified(change, [...rows.map(deploymentIds), ...reported.map(({ deployment }) => deployment)])
}
