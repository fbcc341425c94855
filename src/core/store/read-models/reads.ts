// What people may read within their scope (`ports/reads.ts`): the queries of each room, run by a reader of that scope.
import { changeReads } from '../sql/changes.ts'
import { costsOn } from './costs-sql.ts'
import { deploymentReads } from '../sql/deployment-reads.ts'
import { eventsOn } from './events-sql.ts'
import { incidentReads } from '../sql/incidents.ts'
import { judgingOn } from './judging-sql.ts'
import { readings, type Reading } from '../sql/reading.ts'
import { retainedCostsOn } from './retained-costs.ts'
import { runReads } from '../sql/run-reads.ts'
import { shownDocumentsOf } from './shown-documents.ts'
import { testReads } from '../sql/test-reads.ts'
import { trendsOn } from './trend-reads.ts'
import { viewsOn } from './views-sql.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { Reads, ReadViews } from '../ports/reads.ts'
import type { Repositories } from '../ports/repository.ts'
import type { Scope } from '../ports/scope.ts'
import type { Statements } from '../sql/statements.ts'

export function readsOn(
  sql: Statements,
  outbox: Pick<Outbox, 'within'>,
  repositories: Repositories,
): (scope: Scope) => Reads {
  const readingOf = readings(sql)
  const { get } = runReads(sql)
  return scope => {
    const reading = readingOf(scope)
    return {
      views: viewsWithin(reading),
      runs: {
        get: async key => {
          const found = await reading.ask(
            `SELECT 1 AS found FROM runs WHERE instance = ?1 AND pipeline_id = ?2 AND {visible}
             UNION ALL SELECT 1 FROM tombstones WHERE instance = ?1 AND pipeline_id = ?2 AND {visible}`,
            [key.instance, key.pipelineId],
          )
          return found.length === 0 ? undefined : get(key)
        },
      },
      outbox: outbox.within(scope),
      tests: testReads(reading),
      deployments: deploymentReads(reading),
      incidents: incidentReads(reading),
      changes: changeReads(reading),
      repositories: shownDocumentsOf(reading, repositories),
    }
  }
}

export function viewsWithin(reading: Reading): ReadViews {
  return {
    ...viewsOn(reading),
    ...eventsOn(reading),
    costs: { ...costsOn(reading), retained: retainedCostsOn(reading) },
    judging: judgingOn(reading),
    trends: trendsOn(reading),
  }
}
