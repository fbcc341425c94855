// Reports deployments, changes and incidents as webhooks and pipelines do, and creates the settings for counting them.
import { countedStep } from '../../../src/features/deployments/line-step.ts'
import { event } from '../../core/store/events-exercise.ts'
import { figureTables } from '../../../src/features/deployments/metrics.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { minute, rules } from '../../flow/world.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Counting } from '../../../src/features/deployments/counter.ts'
import type { JobSpan } from '../../../src/model/trace-context.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'
import type { Reported } from '../../../src/features/deployments/sql/counted.ts'
import type { Reporter } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** The step that extracts deployments, changes and incidents from observations. */
export const counted = countedStep({ afterEvent: 0, afterSnapshot: rules.deadline })

/** Returns an event of the deployment made by a job of the pipeline. */
export function deploymentEvent(
  id: number,
  status: string,
  when: number,
  jobId: number | null = id * 10,
): PlatformEvent {
  return event(`${id} ${status}`, {
    kind: 'deployment',
    name: 'platform.deployment',
    at: when,
    attributes: {
      'deployment.id': String(id),
      'deployment.environment.name': 'production',
      'platform.deployment.status': status,
      ...(jobId !== null && { 'cicd.pipeline.task.run.id': String(jobId) }),
    },
    object: `deployment ${id}`,
    key: `deployment ${id} ${status}`,
  })
}

/** Returns a job's span, as its snapshot reports it. */
export function spanOf(jobId: number, pipelineId = 7): JobSpan {
  const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: pipelineId } as const
  return { trace, pipelineId, jobId, kind: 'job' }
}

/** The delay before a reported item is counted, ms. */
export const countIn = 2 * minute

/** Writes reports. By default, the reported items are due for counting at once. */
export async function report<Of>(
  { runs }: Pick<Store, 'runs'>,
  by: Reporter<Reported<Of>>,
  all: readonly Of[],
  after = 0,
): Promise<void> {
  const reported = all.map(one => ({ report: one, countIn: after }))
  await runs.transact([], { reports: reportsBy(by, reported) })
}

export const settings = telemetrySettings({ profiles, figures: figureTables })
/** The export queue for delta metrics: one point for each counted item. */
export const delta = { destination: 'default', signal: 'metrics' } as const

export function countingOn({ now }: { readonly now: () => number }): Counting {
  return {
    ...{ to: [delta], profile: 'generic', measure: chunk => measure(chunk, settings), onCounted: () => undefined },
    clock: { now, sleep: async () => new Promise(resolve => setImmediate(resolve)) },
    log: silentLog(),
  }
}
