// `pipespan backfill --audit`: finds the audit events of the past, for the daemon to export.
import { auditBackfill, type AuditBackfillProgress } from '../discovery/audit-backfill.ts'
import { auditTaking } from '../discovery/audit-reading.ts'
import { fullnessOf } from '../app/audit.ts'
import { ConfigError } from '../lib/fault.ts'
import { createProgressLine } from './progress-line.ts'
import { createSelection } from '../processing/selection.ts'
import { takingOf } from '../app/processing.ts'
import { createEvents } from '../app/events.ts'
import { exportDestinations } from '../app/export.ts'
import { exitCode, type Terminal } from './terminal.ts'
import {
  commonResult,
  nameOfCommand,
  platformOf,
  type BackfillCommand,
  type BackfillResult,
} from './backfill-command.ts'
import { systemClock } from '../lib/clock.ts'
import type { PlatformView } from '../config/platforms.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from '../app/profile.ts'
import type { SharedStore } from '../store/ports/store.ts'

/** When `signal` aborts it, it answers what it has seen so far; the same command resumes. */
export async function backfillAudit(
  terminal: Terminal,
  command: BackfillCommand,
  view: PlatformView<ProfileName>,
  store: SharedStore,
  log: Log,
  signal: AbortSignal,
): Promise<BackfillResult> {
  const { since, until, words, dryRun } = command
  const { config } = view
  const sources = config.audit ?? []
  if (sources.length === 0) {
    const remedy = 'Set PIPESPAN_AUDIT to instance, or to groups and projects, such as team,project:other/shop.'
    throw new ConfigError('No audit events are configured.', remedy)
  }
  const { client } = platformOf(view, store, log)
  const now = (): number => systemClock.now()
  // Nothing in this process listens to events: a running daemon polls the store.
  const taking = takingOf({
    ...{ config, store, events: createEvents(), clock: systemClock },
    ...{ selection: createSelection(config), queues: exportDestinations(config).queues },
  })
  const line = createProgressLine(terminal, now)
  let requests = 0
  let last: AuditBackfillProgress | undefined
  try {
    const summary = await auditBackfill({
      client,
      call: { priority: 'backfill', signal, onSend: () => void (requests += 1) },
      repositories: store.repositories,
      name: nameOfCommand('audit', words, sources),
      range: { since, until: until ?? now() },
      ...{ sources, dryRun, now },
      take: auditTaking(taking),
      isFull: fullnessOf(store),
      onProgress: progress => {
        last = progress
        line.show(progress.share, `${progress.seen} audit events, ${requests} requests`)
      },
    })
    line.end()
    const { seen, failed, full } = summary
    return {
      code: failed.length > 0 || full ? exitCode.failed : exitCode.done,
      text: summaryOf(summary, requests, command),
      json: { ...commonResult(summary, command), events: seen, requests, failed, full },
    }
  } catch (error) {
    line.end()
    if (!signal.aborted) throw error
    const seen = last?.seen ?? 0
    return {
      code: exitCode.done,
      text: `Stopped. ${seen} audit events seen. Run the same command again to resume.`,
      json: { stopped: true, events: seen, requests },
    }
  } finally {
    await client.close()
  }
}

function summaryOf(
  { range, resumed, seen, failed, full }: AuditBackfillProgress,
  requests: number,
  { dryRun, deliver }: BackfillCommand,
): string {
  const iso = (at: number): string => new Date(at).toISOString()
  const next = dryRun
    ? 'Nothing was written.'
    : full
      ? 'The store is full: raise PIPESPAN_STORE_MAX_SIZE or wait for exports. Run the same command again to resume.'
      : seen === 0
        ? 'Nothing new to export.'
        : deliver
          ? 'They are exported now.'
          : 'The running daemon exports the new ones; without a daemon, use `--deliver`.'
  return [
    `${iso(range.since)} to ${iso(range.until)}${resumed ? ', resumed' : ''}:`,
    `${seen} audit events seen, ${requests} requests.`,
    ...failed.map(({ source, reason }) => `The audit events of ${source} were skipped: ${reason}`),
    next,
  ].join('\n')
}
