// Reads the counters and states of all parts of the daemon, for metrics that are observed at collection time.
import type { Budget, BudgetSnapshot } from '../../platform/port/budget.ts'
import type { EnricherCounters } from '../../core/complete/enricher.ts'
import type { TakeInCounters } from '../../core/take-in/take-in.ts'
import type { ExportQueueStatus } from '../../core/send/exporter.ts'
import type { PollerCounters } from '../../core/find/poller.ts'
import type { RedeliveryCounters } from '../../core/find/redelivery.ts'
import type { SnapshotCounters } from '../../core/settle/take-snapshots.ts'
import type { SettleCounters } from '../../core/settle/settle-loop.ts'
import type { WebhookCounts } from '../../core/receive/webhook-counts.ts'
import type { Store } from '../../core/store/ports/store.ts'

export interface Point {
  readonly value: number
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

interface Counting<Counters> {
  readonly counters: Readonly<Counters>
}

/** The observed parts of the daemon; undefined for a part that is not running. */
export interface ObservedParts {
  readonly ingress: { readonly counts: WebhookCounts }
  readonly intake: Counting<TakeInCounters>
  readonly snapshotter: Counting<SnapshotCounters>
  readonly settleLoop: Counting<SettleCounters>
  readonly enricher: Counting<EnricherCounters> | undefined
  readonly poller: Counting<PollerCounters> | undefined
  readonly redelivery: Counting<RedeliveryCounters> | undefined
  /** The data points of the features' counters, by metric name. */
  readonly counted: ReadonlyMap<string, readonly Point[]>
  /** The number of series omitted from scrapes. */
  readonly scrapes: { readonly leftOut: number }
  /** The number of configuration reloads, applied and rejected; undefined if the configuration is never reloaded. */
  readonly reloads?: { readonly applied: number; readonly refused: number } | undefined
}

/** The sources of the metrics at collection time: the parts of the daemon, and values that are fetched at collection time. */
export interface Observed extends ObservedParts {
  /** The time on the store's clock, Unix ms. */
  readonly now: number
  readonly queues: readonly ExportQueueStatus[]
  /** The number of deliveries that could not be decoded. */
  readonly quarantined: number
  readonly runs: { readonly runs: number; readonly onlyJobs: number; readonly open: number }
  /** The store's own counters, by name. */
  readonly counters: ReadonlyMap<string, number>
  /** The used share of the store's size limit. */
  readonly fullness: number
  /** Whether the store's files are still in place; see `isInPlace` of `Store`. */
  readonly isInPlace: boolean | undefined
  /** The number of damaged rows skipped since the daemon started. */
  readonly damagedRows: number
  readonly budgets: readonly (BudgetSnapshot & { readonly platform: string })[]
}

/** The observed parts of the daemon, including those whose values are fetched at collection time. */
export interface Parts extends ObservedParts {
  readonly exporter: { status(): Promise<Observed['queues']> }
  readonly flush: { status(): Observed['queues'] }
  readonly store: Pick<Store, 'now' | 'quarantine' | 'runs' | 'counters' | 'pruning' | 'damaged' | 'isInPlace'>
  /** The connections' API budgets, each with the connection's name. */
  readonly budgets: readonly { readonly platform: string; readonly budget: Pick<Budget, 'snapshot'> }[]
}

export async function observeParts(parts: Parts): Promise<Observed> {
  const { store } = parts
  const [now, queues, quarantined, runs, counters, fullness, budgets] = await Promise.all([
    store.now(),
    parts.exporter.status(),
    store.quarantine.count(),
    store.runs.count(),
    store.counters.all(),
    store.pruning.fullness(),
    Promise.all(parts.budgets.map(async ({ platform, budget }) => ({ platform, ...(await budget.snapshot()) }))),
  ])
  return {
    ...parts,
    ...{ now, quarantined, runs, counters, fullness, budgets, damagedRows: store.damaged.count },
    isInPlace: store.isInPlace?.(),
    queues: [...queues, ...parts.flush.status()],
  }
}
