// Checks audit events: whether the token may read each source, and whether it sees the actions of all users or only those of its own user.
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { auditCursors } from './documents.ts'
import { nameOfSource, sourceOf } from './audit-window.ts'
import { PlatformError, type AuditSource, type CallOptions, type PlatformClient } from '../../platform/port.ts'
import type { AuditOptions } from './options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const report = reportOf('audit')
const hour = 3_600_000
const call: CallOptions = { priority: 'enrich' }

export async function checkAudit(
  { audit = [] }: AuditOptions,
  { client, store }: { readonly client: PlatformClient | undefined; readonly store: SharedStore | undefined },
): Promise<Finding[]> {
  if (audit.length === 0) return [report('skipped', 'Audit events are off (PIPESPAN_AUDIT).')]
  if (client === undefined) {
    const remedy = 'Set PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return [report('warning', 'Audit events cannot be read without a platform token.', remedy)]
  }
  const findings: Finding[] = []
  for (const source of audit) {
    try {
      findings.push(await checkSource(client, source), ...(await lagOf(store, client.instance, source)))
    } catch (error) {
      findings.push(broken(report, 'failure', error))
    }
  }
  return findings
}

async function checkSource(client: PlatformClient, configured: string): Promise<Finding> {
  const source = sourceOf(configured)
  const name = nameOfSource(configured)
  await client
    .auditEvents(source, { createdAfter: Date.now() - hour }, call)
    [Symbol.asyncIterator]()
    .next()
  const missing = await missingRole(client, source)
  if (missing === undefined) return report('fine', `The token can read the audit events of ${name}.`)
  return report(
    'warning',
    `The token does not belong to ${missing} of ${name}: the platform only returns the events of the token's user.`,
    `Use a token of ${missing}, with the scope read_api.`,
  )
}

/**
 * Returns the role that the token needs but lacks; undefined if it has that role. Without the role, the platform returns only the actions of the
 * token's user.
 */
async function missingRole(client: PlatformClient, source: AuditSource): Promise<string | undefined> {
  if (source === 'instance') return undefined
  if ('group' in source) return (await client.ownsGroup(source.group, call)) ? undefined : 'an owner'
  try {
    // This request tests for the role, because only maintainers may list webhooks.
    await client.hooks(source, call)
    return undefined
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'forbidden') return 'a maintainer'
    throw error
  }
}

/** Reports how far the daemon lags behind a source. Returns nothing if the daemon has not read the source yet. */
async function lagOf(store: SharedStore | undefined, instance: string, source: string): Promise<Finding[]> {
  const cursor = await store?.repositories.of(auditCursors).get({ instance, source })
  if (store === undefined || cursor?.readAt === undefined) return []
  const age = (await store.now()) - cursor.readAt
  if (age < hour) return []
  const what = `The audit events of ${nameOfSource(source)} were last read ${Math.round(age / hour)} h ago.`
  return [report('warning', what, 'Check that a daemon runs with PIPESPAN_AUDIT, and look for the reason in its log.')]
}
