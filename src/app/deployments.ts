// Starts what counts deployments; it asks the platform about commits where its API is configured.
import { createCapabilities } from '../enrichment/capability.ts'
import { createCommitsReading } from '../enrichment/deployed-commits.ts'
import { createDeploymentCounter, type DeploymentCounter } from '../enrichment/deployment-counter.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Platform } from './platform.ts'
import type { Started } from './steps.ts'

export function startDeploymentCounter(
  { config, store, events, clock, log }: Context,
  platform: Platform | undefined,
  { queues, measure }: Pick<ExportParts, 'queues' | 'measure'>,
): Started<DeploymentCounter> {
  const { refusedEndpoints } = store.repositories
  const asked = platform && {
    instance: platform.client.instance,
    commits: createCommitsReading(
      platform.client,
      createCapabilities(refusedEndpoints, platform.client.instance),
      config.leadTime,
    ),
  }
  const counter = createDeploymentCounter({
    ...{ deployments: store.deployments, platform: asked, measure, clock, log },
    to: queues.flatMap(({ destination, signal }) => (signal === 'metrics' ? [{ destination, signal }] : [])),
    profile: config.platform.profile,
    errors: createErrorThrottle(log),
    onCounted: () => events.pending.emit(),
  })
  counter.start()
  return {
    part: counter,
    why: 'remaining deployments are counted after the next start',
    stop: async () => counter.stop(),
  }
}
