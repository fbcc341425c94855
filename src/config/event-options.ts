// The options of what happens around pipelines: the platform's webhook events that are about none, and its audit events.
import { boolean, duration, oneOf } from './plain-kinds.ts'
import { itemsOf, listSchema } from './list-kinds.ts'
import { setting, type Profiles } from './option.ts'
import { wordsOf } from './word-kinds.ts'
import type { Kind } from './kind.ts'

const auditSources: Kind<readonly string[]> = {
  noun: '`instance`, or a list of groups',
  secret: false,
  schema: listSchema({ type: 'string' }),
  parse: raw => {
    const items = itemsOf(raw)
    if ('wrong' in items) return items
    const value = [...new Set(items.value)]
    if (!value.includes('instance') || value.length === 1) return { value }
    const what = '`instance` stands beside groups, whose audit events it has already.'
    return { wrong: { what, remedy: 'Write instance alone, or leave it out.' } }
  },
  show: items => items.join(','),
}

export function eventOptions(profiles: Profiles) {
  const words = [...new Set(Object.values(profiles).flatMap(({ events }) => events))]
  return {
    events: setting(wordsOf(words, 'event'), {
      variable: 'PIPESPAN_EVENTS',
      default: 'deployment,change,release,feature_flag,access_token',
      says: `Events besides those of pipelines and jobs that become log records: ${words.map(word => `\`${word}\``).join(', ')}; docs/EVENTS.md says what each is. Other webhooks are answered and counted. It costs no request.`,
      example: 'deployment,change,push',
    }),
    leadTime: setting(oneOf(['commit', 'authored', 'merge']), {
      variable: 'PIPESPAN_LEAD_TIME',
      default: 'commit',
      says: 'From when on the lead time of a commit counts until it is deployed to production: `commit` (it was committed), `authored` (it was written), `merge` (the same of the commits on the line of first parents alone: when a change was merged). A request for each deployment to production, below enrichment.',
    }),
    vcsMetrics: setting(boolean, {
      variable: 'PIPESPAN_VCS_METRICS',
      default: 'false',
      says: 'Export the metrics that the OpenTelemetry conventions have of changes (merge requests), too: `vcs.change.count`, `vcs.change.duration`, `vcs.change.time_to_merge` and `vcs.change.time_to_approval`. They need `change` among `PIPESPAN_EVENTS`. It costs no request.',
    }),
    eventsNameAttribute: setting(boolean, {
      variable: 'PIPESPAN_EVENTS_NAME_ATTRIBUTE',
      default: 'false',
      says: "Write an event's name as the attribute `event.name` too, for backends that do not read the field of the log record.",
    }),
    audit: setting(auditSources, {
      variable: 'PIPESPAN_AUDIT',
      says: "Whose audit events become log records: `instance` (an administrator's token), or full paths of groups (an owner's). They are asked for every PIPESPAN_POLL_INTERVAL: 1 request for each source, and 1 more for each 100 events.",
      example: 'instance',
    }),
    auditAddress: setting(boolean, {
      variable: 'PIPESPAN_AUDIT_ADDRESS',
      default: 'false',
      says: 'Export the IP address of whoever did it, too, as `client.address`.',
    }),
    auditLookback: setting(duration, {
      variable: 'PIPESPAN_AUDIT_LOOKBACK',
      default: '24h',
      says: 'How far the first look at audit events goes back; `pipespan backfill --audit` goes further.',
    }),
  }
}
