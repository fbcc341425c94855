// `pipespan backfill --audit`: finds the audit events of the past, for the daemon to export.
import { auditBackfill, type AuditBackfillProgress } from './audit-backfill.ts'
import { auditClient, auditTaking, fullnessOf } from './audit-reading.ts'
import { ConfigError } from '../../lib/fault.ts'
import { systemClock } from '../../lib/clock.ts'
import type { AskedBackfill, BackfillContext, EndedBackfill } from '../../daemon/feature.ts'
import type { AuditOptions } from './options.ts'

export function auditSources({ audit = [] }: AuditOptions): readonly string[] {
  if (audit.length > 0) return audit
  const remedy = 'Set PIPESPAN_AUDIT to instance, or to groups and projects, such as team,project:other/shop.'
  throw new ConfigError('No audit events are configured.', remedy)
}

export async function backfillAudit(
  options: AuditOptions,
  { name, range, dryRun, deliver, signal, onProgress }: AskedBackfill,
  { client, store, taking }: BackfillContext,
): Promise<EndedBackfill> {
  let requests = 0
  const report = (share: number, events: number): void =>
    onProgress(share, `${events} audit events`, { events, requests })
  report(0, 0)
  const ended = await auditBackfill({
    ...{ name, range, dryRun, client: auditClient(client, options) },
    call: { priority: 'backfill', signal, onSend: () => void (requests += 1) },
    repositories: store.repositories,
    ...{ sources: auditSources(options), now: () => systemClock.now() },
    take: auditTaking(taking),
    isFull: fullnessOf(store),
    onProgress: ({ share, seen }) => report(share, seen),
  })
  const { seen, failed, full } = ended
  return {
    ...{ range: ended.range, resumed: ended.resumed, isWhole: failed.length === 0 && !full },
    lines: [
      `${seen} audit events seen, ${requests} requests.`,
      ...failed.map(({ source, reason }) => `The audit events of ${source} were skipped: ${reason}`),
      whatNext(ended, dryRun, deliver),
    ],
    facts: { events: seen, requests, failed, full },
  }
}

function whatNext({ seen, full }: AuditBackfillProgress, dryRun: boolean, deliver: boolean): string {
  if (dryRun) return 'Nothing was written.'
  if (full)
    return 'The store is full: raise PIPESPAN_STORE_MAX_SIZE or wait for exports. Run the same command again to resume.'
  if (seen === 0) return 'Nothing new to export.'
  return deliver
    ? 'They are exported now.'
    : 'The running daemon exports the new ones; without a daemon, use `--deliver`.'
}
