// Reads the counters and states of all parts of the daemon, for metrics that are observed at collection.
import type { Budget } from '../platform/port/budget.ts'
import type { Observed } from './table.ts'
import type { Store } from '../store/ports/store.ts'

interface Counting<Counters> {
  readonly counters: Counters
}

interface Queues {
  status(): Promise<Observed['queues']>
}

/** The parts of the daemon, as far as they are observed. */
export interface Parts {
  readonly ingress: { readonly counts: Observed['webhook'] }
  readonly intake: Counting<Observed['intake']>
  readonly snapshotter: Counting<Observed['snapshots']>
  readonly settleLoop: Counting<Observed['settling']>
  readonly exporter: Queues
  readonly flush: { status(): Observed['queues'] }
  readonly store: Pick<Store, 'now' | 'inbox' | 'runs' | 'counters' | 'pruning' | 'damaged'>
  /** Those of the connections, by name. */
  readonly budgets: readonly { readonly platform: string; readonly budget: Pick<Budget, 'snapshot'> }[]
  /** Clients of the platform's API; undefined if one does not run. */
  readonly enricher?: Counting<NonNullable<Observed['enricher']>> | undefined
  readonly jobReader?: Counting<NonNullable<Observed['jobReader']>> | undefined
  readonly jobLogs?: Counting<NonNullable<Observed['jobLogs']>> | undefined
  readonly jobTests?: Counting<NonNullable<Observed['jobTests']>> | undefined
  readonly jobSpans?: Counting<NonNullable<Observed['jobSpans']>> | undefined
  readonly jobReports?: Counting<NonNullable<Observed['jobReports']>> | undefined
  readonly incidents: Counting<Observed['incidents']>
  readonly incidentPoller: Counting<{ readonly requests: number }> | undefined
  readonly deployments: Counting<Observed['deployments']> & { readonly requests: () => number }
  readonly changes: Counting<Observed['changes']>
  readonly poller?: Counting<NonNullable<Observed['poller']>> | undefined
  readonly audit?: Counting<NonNullable<Observed['audit']>> | undefined
  readonly redelivery?: Counting<NonNullable<Observed['redelivery']>> | undefined
  /** Undefined: nothing reloads the configuration. */
  readonly reloads?: Observed['reloads']
}

export async function observeParts(parts: Parts): Promise<Observed> {
  const { store } = parts
  const [now, queues, inbox, runs, counters, fullness, budgets] = await Promise.all([
    store.now(),
    parts.exporter.status(),
    store.inbox.state(),
    store.runs.count(),
    store.counters.all(),
    store.pruning.fullness(),
    Promise.all(parts.budgets.map(async ({ platform, budget }) => ({ platform, ...(await budget.snapshot()) }))),
  ])
  return {
    ...{ now, inbox, runs, counters, fullness, budgets, damagedRows: store.damaged.count },
    reloads: parts.reloads,
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
