// Job logs for people, read from the platform's API if the configuration allows it.
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { elsewhere } from '../../lib/busy-limit.ts'
import { isWithin } from '../../model/territory.ts'
import { perMinuteForPeople, type PartContext } from '../../daemon/feature.ts'
import type { InsideOptions } from './options.ts'
import type { ShownJob, ShownLog } from '../../platform/port/inside.ts'

const noToken = 'The job ran on a platform for which the daemon has no token.'

/** `path`: of the job's project, if it is known. */
export interface LogOwner extends ShownJob {
  readonly instance: string
  readonly path?: string | undefined
}

export type JobLogs = (job: LogOwner) => Promise<ShownLog>

/** Resolves to undefined unless logs are to be shown, and the platform can be asked. */
export function logsForPeople({ pages, job }: InsideOptions, context: PartContext): () => JobLogs | undefined {
  let known: JobLogs | undefined
  return () => {
    if (known !== undefined || !pages.logs || context.tokens().length === 0) return known
    const { config, clock } = context
    const rules = { redactText: createTextRedaction(config.redact ?? []), readMax: job.logsReadMax, clock }
    const shows = context.tokens().map(({ territory, client, config: own }) => ({
      territory,
      show: client.showLogs({ ...rules, maxPerMinute: perMinuteForPeople(own) }),
    }))
    known = async ({ instance, path, ...owner }) => {
      const found = shows.find(one => isWithin(one.territory, instance, path))
      if (found === undefined) return { as: 'refused', what: noToken, remedy: 'Read it there.' }
      return elsewhere(async () => found.show(owner))
    }
    return known
  }
}
