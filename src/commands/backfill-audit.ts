// `pipespan backfill --audit`: finds the audit events of the past, for the daemon to export.
import { platformNames } from '../daemon/connections.ts'
import { auditBackfill, type AuditBackfillProgress } from '../features/audit/audit-backfill.ts'
import { auditTaking } from '../features/audit/audit-reading.ts'
import { fullnessOf } from '../daemon/audit.ts'
import { ConfigError } from '../lib/fault.ts'
import { createProgressLine } from './progress-line.ts'
import { createSelection } from '../core/take-in/selection.ts'
import { takingOf } from '../daemon/processing.ts'
import { createEvents } from '../daemon/events.ts'
import { exportDestinations } from '../daemon/export.ts'
import {
  endedResult,
  nameOfCommand,
  platformOf,
  stoppedResult,
  type BackfillCommand,
  type BackfillResult,
} from './backfill-command.ts'
import { systemClock } from '../lib/clock.ts'
import { features } from '../features.ts'
import type { PlatformView } from '../daemon/configuration/platforms.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from '../daemon/profile.ts'
import type { Terminal } from '../lib/terminal.ts'
import type { SharedStore } from '../core/store/ports/store.ts'

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
    ...{
      selection: createSelection(config, platformNames(config)),
      queues: exportDestinations(config, features).queues,
    },
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
    const { seen, failed, full } = summary
    return endedResult(summary, command, {
      isWhole: failed.length === 0 && !full,
      lines: [
        `${seen} audit events seen, ${requests} requests.`,
        ...failed.map(({ source, reason }) => `The audit events of ${source} were skipped: ${reason}`),
        whatNext(summary, command),
      ],
      facts: { events: seen, requests, failed, full },
    })
  } catch (error) {
    if (!signal.aborted) throw error
    const seen = last?.seen ?? 0
    return stoppedResult(`${seen} audit events seen.`, { events: seen, requests })
  } finally {
    line.end()
    await client.close()
  }
}

function whatNext({ seen, full }: AuditBackfillProgress, { dryRun, deliver }: BackfillCommand): string {
  if (dryRun) return 'Nothing was written.'
  if (full)
    return 'The store is full: raise PIPESPAN_STORE_MAX_SIZE or wait for exports. Run the same command again to resume.'
  if (seen === 0) return 'Nothing new to export.'
  return deliver
    ? 'They are exported now.'
    : 'The running daemon exports the new ones; without a daemon, use `--deliver`.'
}
