// The options of events: webhook events that are about no pipeline, and audit events.
import { boolean, duration, oneOf } from './plain-kinds.ts'
import { listOf, patterns, wordsOf } from './list-kinds.ts'
import { setting, type Profiles } from './option.ts'
import { wrongPath } from './project-kinds.ts'
import { wrong, type Kind } from './kind.ts'

const auditSources: Kind<readonly string[]> = listOf({
  noun: '`instance`, or a list of groups and projects',
  read: items => {
    const value = [...new Set(items)]
    if (value.includes('project:')) {
      const remedy = 'Write the ID or full path after it, such as project:team/shop.'
      return wrong('`project:` names no project.', remedy)
    }
    const names = value.filter(item => item !== 'instance').map(item => item.replace(/^project:/, ''))
    const fault = names.map(wrongPath).find(one => one !== undefined)
    if (fault !== undefined) return { wrong: fault }
    if (!value.includes('instance') || value.length === 1) return { value }
    const what = '`instance` already includes the audit events of all groups and projects.'
    return wrong(what, 'Use instance alone, or remove it.')
  },
})

export function eventOptions(profiles: Profiles) {
  const words = [...new Set(Object.values(profiles).flatMap(({ events }) => events))]
  return {
    events: setting(wordsOf(words, 'event'), {
      variable: 'PIPESPAN_EVENTS',
      default: 'deployment,change,release,feature_flag,access_token,operator',
      description: `Events besides those of pipelines and jobs that become log records: ${words.map(word => `\`${word}\``).join(', ')}. See docs/EVENTS.md. Other webhooks are answered and counted. No requests, except for \`issue\`: if the API is configured, 1 every PIPESPAN_POLL_INTERVAL for incidents that have changed.`,
      example: 'deployment,change,push',
    }),
    leadTime: setting(oneOf(['commit', 'authored', 'merge']), {
      variable: 'PIPESPAN_LEAD_TIME',
      default: 'commit',
      description:
        'Start of the lead time of a commit, which ends with its deployment to production: `commit` (commit date), `authored` (author date), `merge` (commit date, first-parent commits only: when a change was merged). One request for each deployment to production, at lower priority than enrichment.',
    }),
    production: setting(patterns, {
      variable: 'PIPESPAN_PRODUCTION',
      unset: 'environments of the tier `production`, and those named `production` or `prod` whose tier is unknown',
      description:
        'Patterns of the environments that are production, for lead times, dashboards and pages: names, or `tier:` and tiers. Applies to deployments that are counted from then on.',
      example: 'live-*,tier:production',
    }),
    vcsMetrics: setting(boolean, {
      variable: 'PIPESPAN_VCS_METRICS',
      default: 'false',
      description:
        'Also export the metrics of the OpenTelemetry conventions for changes (merge requests): `vcs.change.count`, `vcs.change.duration`, `vcs.change.time_to_merge` and `vcs.change.time_to_approval`. They need `change` in PIPESPAN_EVENTS. No requests.',
    }),
    eventsNameAttribute: setting(boolean, {
      variable: 'PIPESPAN_EVENTS_NAME_ATTRIBUTE',
      default: 'false',
      description:
        "Also write an event's name to the attribute `event.name`, for backends that ignore the log record's event name field.",
    }),
    audit: setting(auditSources, {
      variable: 'PIPESPAN_AUDIT',
      description:
        "Sources of audit events, which become log records: `instance` (needs an administrator's token), or groups (IDs or full paths; needs an owner's token) and projects (`project:` and the ID or full path; needs a maintainer's token). Polled every PIPESPAN_POLL_INTERVAL: 1 request per source, and 1 more per 100 events.",
      example: 'team,project:other/shop',
    }),
    auditAddress: setting(boolean, {
      variable: 'PIPESPAN_AUDIT_ADDRESS',
      default: 'false',
      description: 'Also export the IP address of the user as `client.address`.',
    }),
    auditLookback: setting(duration, {
      variable: 'PIPESPAN_AUDIT_LOOKBACK',
      default: '24h',
      description: 'How far back audit events are read at first; use `pipespan backfill --audit` for more.',
    }),
  }
}
