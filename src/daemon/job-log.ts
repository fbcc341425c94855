// Job logs for the pages, read from the platform's API if the configuration allows it.
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createShowLog } from '../platform/job-log/show-log.ts'
import { connectionFor, perMinuteForPeople, type Connection } from './connections.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { PagesSources } from '../console/ports.ts'

/** Undefined unless logs are to be shown, and the platform can be asked. */
export function jobLogOf(
  { pages, job, redact }: Config,
  connections: readonly Connection[],
  clock: Clock,
): PagesSources['jobLog'] {
  if (!pages.logs || connections.length === 0) return undefined
  const shows = connections.map(connection => ({
    territory: connection.territory,
    show: createShowLog({
      ...{ client: connection.client, clock, maxPerMinute: perMinuteForPeople(connection) },
      ...{ redactText: createTextRedaction(redact ?? []), readMax: job.logsReadMax },
    }),
  }))
  return async ({ instance, path, ...owner }) =>
    connectionFor(shows, instance, path)?.show(owner) ?? {
      as: 'refused',
      what: 'The job ran on a platform for which the daemon has no token.',
      remedy: 'Read it there.',
    }
}
