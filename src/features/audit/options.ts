// The options of audit events: where they are read, how far back, and whether with addresses.
import { boolean, duration } from '../../daemon/configuration/plain-kinds.ts'
import { listOf } from '../../daemon/configuration/list-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import { wrong, type Kind } from '../../daemon/configuration/kind.ts'
import { wrongPath } from '../../daemon/configuration/project-kinds.ts'
import type { SliceOf } from '../../daemon/feature.ts'

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

export const auditOptions = {
  'What is exported': {
    audit: setting(auditSources, {
      variable: 'PIPESPAN_AUDIT',
      ofPlatform: true,
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
  },
}

export type AuditOptions = SliceOf<typeof auditOptions>
