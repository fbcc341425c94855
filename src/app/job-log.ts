// Job logs for the pages, read from the platform's API if the configuration allows it.
import { createTextRedaction } from '../platform/text-redaction.ts'
import { createShowLog } from '../platform/job-log/show-log.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { PagesSources } from '../pages/ports.ts'
import type { PlatformClient } from '../platform/port.ts'

export type LogClient = Pick<PlatformClient, 'jobLog' | 'instance'>

/** Share of the API budget, so that people who read logs do not make other requests wait. */
const share = 1 / 10

/** Undefined unless logs are to be shown, and the platform can be asked. */
export function jobLogOf(
  { pages, job, redact, platform }: Config,
  client: LogClient | undefined,
  clock: Clock,
): PagesSources['jobLog'] {
  if (!pages.logs || client === undefined) return undefined
  const show = createShowLog({
    ...{ client, clock, redactText: createTextRedaction(redact ?? []), readMax: job.logsReadMax },
    maxPerMinute: Math.max(1, Math.floor(platform.budget * share)),
  })
  return async ({ instance, ...owner }) =>
    instance === client.instance
      ? show(owner)
      : {
          as: 'refused',
          what: 'The job ran on a platform for which the daemon has no token.',
          remedy: 'Read it there.',
        }
}
