// Checks of audit events: whether the token may read each source, and whether it sees the actions of everybody or only of its own user.
import { broken, reportOf, type Finding } from './finding.ts'
import { call } from './platform.ts'
import { nameOfSource, sourceOf } from '../../discovery/audit-reading.ts'
import type { Config } from '../../config/options.ts'
import type { PlatformClient } from '../../platform/rest/client.ts'
import type { SharedStore } from '../../store/ports/store.ts'

const report = reportOf('audit')
const hour = 3_600_000

export async function checkAudit(
  { audit = [] }: Config,
  client: PlatformClient | undefined,
  store: SharedStore | undefined,
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
  const isWhole = source === 'instance' || (await client.ownsGroup(source.group, call))
  if (isWhole) return report('fine', `The token can read the audit events of ${name}.`)
  return report(
    'warning',
    `The token is not an owner's of ${name}: the platform only returns what the token's user did.`,
    "Use a group owner's token, with the scope read_api.",
  )
}

/** How far the daemon is behind; nothing if it has not read this source yet. */
async function lagOf(store: SharedStore | undefined, instance: string, source: string): Promise<Finding[]> {
  const cursor = await store?.repositories.auditCursors.get({ instance, source })
  if (store === undefined || cursor?.readAt === undefined) return []
  const age = (await store.now()) - cursor.readAt
  if (age < hour) return []
  const what = `The audit events of ${nameOfSource(source)} were last read ${Math.round(age / hour)} h ago.`
  return [report('warning', what, 'Check that a daemon runs with PIPESPAN_AUDIT, and its log for the reason.')]
}
