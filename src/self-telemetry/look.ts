// Reads the counters and states of all parts of the daemon, for metrics that are observed at collection.
import type { Budget } from '../platform/rest/budget.ts'
import type { Seen } from './table.ts'
import type { Store } from '../store/ports/store.ts'

interface Counting<Counters> {
  readonly counters: Counters
}

interface Queues {
  status(): Promise<Seen['queues']>
}

/** The parts of the daemon, as far as they are observed. */
export interface Parts {
  readonly ingress: { readonly counts: Seen['webhook'] }
  readonly intake: Counting<Seen['intake']>
  readonly snapshotter: Counting<Seen['snapshots']>
  readonly settleLoop: Counting<Seen['settling']>
  readonly exporter: Queues
  readonly flush: { status(): Seen['queues'] }
  readonly store: Pick<Store, 'now' | 'inbox' | 'runs' | 'counters' | 'pruning' | 'damaged'>
  readonly budget?: Pick<Budget, 'snapshot'> | undefined
  /** Clients of the platform's API; undefined if one does not run. */
  readonly enricher?: Counting<NonNullable<Seen['enricher']>> | undefined
  readonly jobReader?: Counting<NonNullable<Seen['jobReader']>> | undefined
  readonly jobLogs?: Counting<NonNullable<Seen['jobLogs']>> | undefined
  readonly jobTests?: Counting<NonNullable<Seen['jobTests']>> | undefined
  readonly jobSpans?: Counting<NonNullable<Seen['jobSpans']>> | undefined
  readonly jobReports?: Counting<NonNullable<Seen['jobReports']>> | undefined
  readonly incidents: Counting<Seen['incidents']>
  readonly incidentPoller: Counting<{ readonly requests: number }> | undefined
  readonly deployments: Counting<Seen['deployments']> & { readonly requests: () => number }
  readonly changes: Counting<Seen['changes']>
  readonly poller?: Counting<NonNullable<Seen['poller']>> | undefined
  readonly audit?: Counting<NonNullable<Seen['audit']>> | undefined
  readonly redelivery?: Counting<NonNullable<Seen['redelivery']>> | undefined
}

export async function lookAt(parts: Parts): Promise<Seen> {
  const { store } = parts
  const [now, queues, inbox, runs, counters, fullness, budget] = await Promise.all([
    store.now(),
    parts.exporter.status(),
    store.inbox.state(),
    store.runs.count(),
    store.counters.all(),
    store.pruning.fullness(),
    parts.budget?.snapshot(),
  ])
  return {
    ...{ now, inbox, runs, counters, fullness, budget, damagedRows: store.damaged.count },
    webhook: parts.ingress.counts,
    intake: parts.intake.counters,
    snapshots: parts.snapshotter.counters,
    settling: parts.settleLoop.counters,
    queues: [...queues, ...parts.flush.status()],
    enricher: parts.enricher?.counters,
    poller: parts.poller?.counters,
    deployments: parts.deployments.counters,
    changes: parts.changes.counters,
    incidents: parts.incidents.counters,
    incidentRequests: parts.incidentPoller?.counters.requests,
    commitRequests: parts.deployments.requests(),
    jobReader: parts.jobReader?.counters,
    jobLogs: parts.jobLogs?.counters,
    jobTests: parts.jobTests?.counters,
    jobReports: parts.jobReports?.counters,
    jobSpans: parts.jobSpans?.counters,
    redelivery: parts.redelivery?.counters,
    audit: parts.audit?.counters,
  }
}
