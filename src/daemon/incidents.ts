// Starts what asks the platform for incidents, where issues are among the events.
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createIncidentPoller, type IncidentPoller } from '../features/deployments/incidents.ts'
import { incidentReporter } from '../features/deployments/sql/incidents.ts'
import { reportsBy } from '../core/store/ports/reporter.ts'
import { startLoop, type Started } from './steps.ts'
import { clientWithin } from '../core/find/client-within.ts'
import { eventRulesOf } from './processing.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { Wiring } from './wiring.ts'

/** The part is undefined where nobody asks. */
export function startIncidentPoller(
  wiring: Wiring,
  { name, client, territory, scope }: Connection,
): Started<IncidentPoller | undefined> {
  const { config, store, selection, clock, log } = wiring
  const why = 'incidents that changed meanwhile are read after the next start'
  if (!config.events.includes('issue')) return startLoop(undefined, why)
  const { wait: countIn } = eventRulesOf(wiring)
  const part = createIncidentPoller({
    ...{ scope, clock, log, cursors: store.repositories.incidentCursors, leases: store.leases },
    client: clientWithin(client, territory),
    name: leaseOf('incidents', name),
    take: async found => {
      const incidents = found
        .filter(({ project, instance }) => selection.project(project.path, instance))
        .map(report => ({ report, countIn }))
      if (incidents.length > 0) await store.runs.transact([], { reports: reportsBy(incidentReporter, incidents) })
    },
    interval: config.poll.interval,
    errors: createErrorThrottle(log, name),
  })
  return startLoop(part, why)
}
