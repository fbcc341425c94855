// Starts the reader of audit events, if the configuration names an instance or groups.
import { auditTaking } from '../features/audit/audit-reading.ts'
import { createAuditPoller, type AuditPoller } from '../features/audit/audit.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { takingOf } from './processing.ts'
import { startLoop, type Started } from './steps.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import type { Wiring } from './wiring.ts'

/** True while the store has reached its limit. */
export function fullnessOf({ pruning }: Pick<SharedStore, 'pruning'>): () => Promise<boolean> {
  return async () => (await pruning.fullness()) >= 1
}

/** The part is undefined if no audit events are configured, or nothing exports them. */
export function startAudit(wiring: Wiring, { name, config, client }: Connection): Started<AuditPoller | undefined> {
  const { store, clock, log } = wiring
  const sources = config.audit ?? []
  const why = 'remaining audit events are read after the next start'
  const taking = takingOf(wiring)
  const isTaken = taking.rules.to.length > 0
  if (sources.length > 0 && !isTaken)
    log.warn('no destination takes log records: audit events are not read (PIPESPAN_OBSERVABILITY_EXPORT)')
  if (sources.length === 0 || !isTaken) return startLoop(undefined, why)
  const part = createAuditPoller({
    ...{ client, sources, clock, log, repositories: store.repositories, leases: store.leases },
    take: auditTaking(taking),
    isFull: fullnessOf(store),
    ...{ interval: config.poll.interval, lookback: config.auditLookback },
    errors: createErrorThrottle(log, name),
    name: leaseOf('audit', name),
  })
  return startLoop(part, why)
}
