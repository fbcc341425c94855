// The options of the deployments feature: where lead times begin, and which environments are production. Also computes how many API requests these
// options cost.
import { boolean, oneOf } from '../../daemon/configuration/plain-kinds.ts'
import { patterns } from '../../daemon/configuration/list-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { SliceOf, Surroundings } from '../../daemon/feature.ts'

export const deploymentOptions = {
  'What is exported': {
    leadTime: setting(oneOf(['commit', 'authored', 'merge']), { default: 'commit' }).describe(
      'Start of the lead time of a commit, which ends with its deployment to production: `commit` (commit date), `authored` (author date), `merge` (commit date, first-parent commits only: when a change was merged). One request for each deployment to production, at lower priority than enrichment.',
    ),
    production: setting(patterns, {
      unset: 'environments of the tier `production`, and those named `production` or `prod` whose tier is unknown',
      example: 'live-*,tier:production',
    }).describe(
      'Patterns of production environments, for lead times, dashboards and pages: names, or tiers after `tier:`. A change applies to deployments that are counted after it.',
    ),
    vcsMetrics: setting(boolean, { default: 'false' }).describe(
      'Also export the metrics of the OpenTelemetry conventions for changes (merge requests): `vcs.change.count`, `vcs.change.duration`, `vcs.change.time_to_merge` and `vcs.change.time_to_approval`. They need `change` in PIPESPAN_EVENTS. No requests.',
    ),
  },
}

export type DeploymentOptions = SliceOf<typeof deploymentOptions>

/**
 * Describes how many API requests lead times and incidents cost. Each of them costs requests only if the configured events include its kind
 * (`deployment`, `issue`).
 */
export function requestCosts(
  { leadTime }: DeploymentOptions,
  { events, platform, poll }: Surroundings['config'],
): string[] {
  if (platform.url === undefined || platform.token.current() === undefined) return []
  const rounds = Math.max(1, Math.round(60_000 / Math.max(1_000, poll.interval)))
  const costs = {
    deployment: `Lead times (PIPESPAN_LEAD_TIME=${leadTime}): 1 request for each deployment to production that may have new commits, and 1 more for each 100 commits (at most 5), with a lower priority than enrichment.`,
    issue: `Incidents (issue in PIPESPAN_EVENTS): ${rounds} ${rounds === 1 ? 'request' : 'requests'} a minute, and 1 more for each 100 incidents that have changed.`,
  }
  return Object.entries(costs).flatMap(([word, cost]) => (events.includes(word) ? [cost] : []))
}
