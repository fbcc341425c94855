// Starts the reader of audit events, if the configuration names an instance or groups.
import { auditTaking, type AuditReading } from '../discovery/audit-reading.ts'
import { createAuditPoller, type AuditPoller } from '../discovery/audit.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { eventRulesOf } from './processing.ts'
import { startLoop, type Started } from './steps.ts'
import type { Clock } from '../lib/clock.ts'
import type { Context } from './context.ts'
import type { EventRules } from '../processing/process-deliveries.ts'
import type { ExportParts } from './export.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { Selection } from '../processing/selection.ts'
import type { SharedStore } from '../store/ports/store.ts'

/** Stores audit events for export. Used by the daemon and by the backfill command. */
export function auditTakingOf(
  { runs }: Pick<SharedStore, 'runs'>,
  selection: Selection,
  rules: EventRules,
  clock: Clock,
): AuditReading['take'] {
  return auditTaking({ runs, selection, rules, now: () => clock.now() })
}

/** True while the store has reached its limit. */
export function fullnessOf({ pruning }: Pick<SharedStore, 'pruning'>): () => Promise<boolean> {
  return async () => (await pruning.fullness()) >= 1
}

/** The part is undefined if no audit events are configured, or nothing exports them. */
export function startAudit(
  context: Context,
  { name, config, client }: Connection,
  selection: Selection,
  queues: ExportParts['queues'],
): Started<AuditPoller | undefined> {
  const { store, clock, log } = context
  const sources = config.audit ?? []
  const why = 'remaining audit events are read after the next start'
  const rules = eventRulesOf(context, queues)
  if (sources.length > 0 && rules.to.length === 0)
    log.warn('no destination takes log records: audit events are not read (SERVICE_OBSERVABILITY_EXPORT)')
  if (sources.length === 0 || rules.to.length === 0) return startLoop(undefined, why)
  const part = createAuditPoller({
    ...{ client, sources, clock, log, repositories: store.repositories, leases: store.leases },
    take: auditTakingOf(store, selection, rules, clock),
    isFull: fullnessOf(store),
    ...{ interval: config.poll.interval, lookback: config.auditLookback },
    errors: createErrorThrottle(log, name),
    lease: leaseOf('audit', name),
  })
  return startLoop(part, why)
}
