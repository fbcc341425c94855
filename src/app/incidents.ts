// Starts what asks the platform for incidents, where issues are among the events.
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createIncidentPoller, type IncidentPoller } from '../discovery/incidents.ts'
import { startLoop, type Started } from './steps.ts'
import { eventRulesOf } from './processing.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Platform } from './platform.ts'
import type { Selection } from '../processing/selection.ts'

/** The part is undefined where nobody asks. */
export function startIncidentPoller(
  context: Context,
  { client }: Platform,
  selection: Selection,
  queues: ExportParts['queues'],
): Started<IncidentPoller | undefined> {
  const { config, store, clock, log } = context
  const why = 'incidents that changed meanwhile are read after the next start'
  if (!config.events.includes('issue')) return startLoop(undefined, why)
  const { wait: countIn } = eventRulesOf(context, queues)
  const part = createIncidentPoller({
    ...{ client, clock, log, cursors: store.repositories.incidentCursors, leases: store.leases },
    take: async found => {
      const incidents = found
        .filter(({ project }) => selection.project(project.path))
        .map(report => ({ report, countIn }))
      if (incidents.length > 0) await store.runs.transact([], { token: '', ids: [], incidents })
    },
    interval: config.poll.interval,
    errors: createErrorThrottle(log),
  })
  return startLoop(part, why)
}
