// The options for audit events: which sources are read, how far back, and whether users' addresses are included.
import { z } from 'zod'
import { boolean, duration } from '../../daemon/configuration/plain-kinds.ts'
import { itemsOf } from '../../daemon/configuration/list-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import { kind, refusing } from '../../daemon/configuration/kind.ts'
import { wrongPath } from '../../daemon/configuration/project-kinds.ts'
import type { Wrong } from '../../daemon/configuration/config-fault.ts'
import type { SliceOf } from '../../daemon/feature.ts'

const auditSources = kind<readonly string[]>(
  itemsOf()
    .pipe(z.array(z.string().superRefine(refusing(wrongSource))))
    .transform(items => [...new Set(items)])
    .superRefine(refusing(wrongTogether)),
  { noun: '`instance`, or a list of groups and projects', remedy: 'Write instance, or IDs and full paths.' },
)

function wrongSource(item: string): Wrong | undefined {
  if (item === 'instance') return undefined
  if (item !== 'project:') return wrongPath(item.replace(/^project:/, ''))
  const remedy = 'Write the ID or full path after it, such as project:team/shop.'
  return { what: '`project:` names no project.', remedy }
}

function wrongTogether(items: readonly string[]): Wrong | undefined {
  if (!items.includes('instance') || items.length === 1) return undefined
  const what = '`instance` already includes the audit events of all groups and projects.'
  return { what, remedy: 'Use instance alone, or remove it.' }
}

export const auditOptions = {
  'What is exported': {
    audit: setting(auditSources, {
      ofPlatform: true,
      needs: { 'platform.token': 'Audit events need a token that can read them.' },
      example: 'team,project:other/shop',
    }).describe(
      "Sources of audit events, which become log records: `instance` (needs an administrator's token), or groups (IDs or full paths; needs an owner's token) and projects (`project:` and the ID or full path; needs a maintainer's token). Polled every PIPESPAN_POLL_INTERVAL: 1 request per source, and 1 more per 100 events.",
    ),
    auditAddress: setting(boolean, { default: 'false' }).describe(
      'Also export the IP address of the user as `client.address`.',
    ),
    auditLookback: setting(duration, { default: '24h' }).describe(
      'How far back audit events are read at first; use `pipespan backfill --audit` for more.',
    ),
  },
}

export type AuditOptions = SliceOf<typeof auditOptions>
