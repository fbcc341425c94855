// The table of the daemon's own metrics: name, type, unit, attributes, and where the value comes from.
import type { ExportQueueStatus } from '../../core/send/exporter.ts'
import type { CountOf } from '../feature.ts'
import type { Observed, Point } from './observe-parts.ts'

interface OwnHead {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly attributes: readonly string[]
}

/** A metric that is observed at collection time. */
export interface ObservedMetric extends OwnHead {
  readonly type: 'counter' | 'gauge'
  readonly points: (observed: Observed) => readonly Point[]
}

/** A metric that is recorded when something happens. */
export interface RecordedMetric extends OwnHead {
  readonly type: 'counter' | 'histogram'
  /** The upper bounds of the histogram's buckets. */
  readonly bounds?: readonly number[]
}

const queue = ['destination', 'signal'] as const
const breakerStates = [
  'closed',
  'open',
  'half-open',
  'unserved',
  'held',
] as const satisfies readonly ExportQueueStatus['state'][]
/** The bucket bounds for histograms of operations and requests, in seconds. */
const operationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** The bucket bounds for histograms of waits of up to half a day, in seconds. */
const waitBounds = [1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200]

/** These counters start at 0, so that alerts detect the first increase. */
const neverExported = [['pruned.unserved_exports', 0]] as const

/** Prettier is disabled for this table, because it would format each row in eight lines instead of two or three. */
// prettier-ignore
export const observedMetrics = [
  { name: 'pipespan.webhook.deliveries', type: 'counter', unit: '{delivery}', attributes: ['outcome', 'reason'],
    description: 'Deliveries that reached the ingress, by outcome; refused and ignored deliveries also by reason.',
    points: ({ ingress: { counts } }) => [
      { value: counts.accepted, attributes: { outcome: 'accepted' } },
      { value: counts.duplicate, attributes: { outcome: 'duplicate' } },
      ...entries(counts.ignored, reason => ({ outcome: 'ignored', reason })),
      ...entries(counts.refused, reason => ({ outcome: 'refused', reason })),
    ] },
  { name: 'pipespan.intake.deliveries', type: 'counter', unit: '{delivery}', attributes: ['outcome'],
    description: 'Deliveries that were parsed, by outcome.',
    points: ({ intake: { counters: { processed, ignored, unparseable, excluded } } }) => entries({ processed, ignored, unparseable, excluded }, outcome => ({ outcome })) },
  { name: 'pipespan.intake.events', type: 'counter', unit: '{delivery}', attributes: [],
    description: 'Processed deliveries of events that are not about a pipeline, including duplicates.',
    points: ({ intake }) => [{ value: intake.counters.events }] },
  { name: 'pipespan.intake.events_unclaimed', type: 'counter', unit: '{delivery}', attributes: [],
    description: 'Events that are not about a pipeline and were not stored, because no destination is configured for log records of their project.',
    points: ({ intake }) => [{ value: intake.counters.unclaimedEvents }] },
  { name: 'pipespan.intake.dropped_jobs', type: 'counter', unit: '{job}', attributes: [],
    description: 'Jobs without an id or a status in deliveries that were otherwise processed. Such jobs in lists of the API are counted in `pipespan.platform.left_out`.',
    points: ({ intake }) => [{ value: intake.counters.droppedJobs }] },
  { name: 'pipespan.intake.unknown_statuses', type: 'counter', unit: '{status}', attributes: [],
    description: 'Unknown statuses, passed through unchanged.',
    points: ({ intake }) => [{ value: intake.counters.unknownStatuses }] },
  { name: 'pipespan.inbox.quarantined', type: 'gauge', unit: '{delivery}', attributes: [],
    description: 'Deliveries that could not be decoded and are quarantined for inspection.', points: ({ quarantined }) => [{ value: quarantined }] },
  { name: 'pipespan.runs.stored', type: 'gauge', unit: '{run}', attributes: ['state'],
    description: 'Runs in the store: open (running or not yet settled), at rest, or known from job events only.',
    points: ({ runs: { runs, open, onlyJobs } }) => entries({ open, rest: Math.max(0, runs - open - onlyJobs), only_jobs: onlyJobs }, state => ({ state })) },
  { name: 'pipespan.runs.settled', type: 'counter', unit: '{attempt}', attributes: ['kind'],
    description: 'Attempts and supplements whose snapshot was taken; of these, attempts that the configuration excludes (`excluded`), and snapshots that no destination is configured for (`unrouted`).',
    points: ({ snapshotter: { counters: { attempts, supplements, blocked, stale, excluded, unrouted } } }) =>
      entries({ complete: attempts - blocked - stale, blocked, stale, supplement: supplements, excluded, unrouted }, kind => ({ kind })) },
  { name: 'pipespan.config.reloads', type: 'counter', unit: '{reload}', attributes: ['outcome'],
    description: 'Reloads of the configuration that changed something, and reloads that were refused because of faults. All other counters of this table, except those of the webhooks, restart from zero when a reload is applied.',
    points: ({ reloads }) => (reloads === undefined ? [] : entries({ ...reloads }, outcome => ({ outcome }))) },
  { name: 'pipespan.runs.postponed', type: 'counter', unit: '{run}', attributes: [],
    description: 'How often a run could not be settled and was postponed; the log names the run.',
    points: ({ settleLoop }) => [{ value: settleLoop.counters.postponed }] },
  { name: 'pipespan.export.queue.size', type: 'gauge', unit: '{export}', attributes: queue,
    description: 'Pending exports.', points: ({ queues }) => queues.map(one => ({ value: one.pending, attributes: queueOf(one) })) },
  { name: 'pipespan.export.queue.age', type: 'gauge', unit: 's', attributes: queue,
    description: 'Age of the oldest pending export.', points: ({ queues, now }) => queues.map(one => ({ value: age(one.oldest, now), attributes: queueOf(one) })) },
  { name: 'pipespan.export.dead_letters', type: 'gauge', unit: '{export}', attributes: queue,
    description: 'Exports that the backend refused for good.', points: ({ queues }) => queues.map(one => ({ value: one.dead, attributes: queueOf(one) })) },
  { name: 'pipespan.export.circuit_breaker.state', type: 'gauge', unit: '{queue}', attributes: [...queue, 'state'],
    description: '1 for the current state of the circuit breaker of a destination and signal, 0 for the others: `closed` (healthy), `open` (tripped), `half-open` (probing); `unserved`: exports are pending, but the destination is no longer configured; `held`: exports are pending for an endpoint that the destination no longer has (`pipespan held`).',
    points: ({ queues }) => queues.flatMap(one => breakerStates.map(state => ({ value: Number(one.state === state), attributes: { ...queueOf(one), state } }))) },
  { name: 'pipespan.export.items', type: 'counter', unit: '{export}', attributes: [...queue, 'outcome'],
    description: 'Exports by outcome: delivered, postponed, rejected (dead letters), repeated because the outcome was unknown (no response, or the process was killed before the response arrived), taken over by another replica.',
    points: ({ queues }) => queues.flatMap(one => {
      const { delivered, later, rejected, repeated, lost } = one.counters
      return entries({ delivered, later, rejected, repeated, lost }, outcome => ({ ...queueOf(one), outcome }))
    }) },
  { name: 'pipespan.export.partially_rejected', type: 'counter', unit: '{item}', attributes: queue,
    description: 'Spans, points and records that the backend refused within requests that it accepted.',
    points: ({ queues }) => queues.map(one => ({ value: one.counters.partiallyRejected, attributes: queueOf(one) })) },
  { name: 'pipespan.metrics.folded', type: 'counter', unit: '{point}', attributes: ['reason'],
    description: 'Points of pipeline metrics whose ref or job name was replaced by a shared value, and points beyond the series limit.',
    points: ({ counters }) => ['refs', 'names', 'series'].map(reason => ({ value: counters.get(`metrics.folded.${reason}`) ?? 0, attributes: { reason } })) },
  { name: 'pipespan.scrape.left_out', type: 'counter', unit: '{series}', attributes: [],
    description: 'Series of pipelines beyond PIPESPAN_METRICS_SCRAPE_MAX_SERIES that were left out of responses from `/metrics`; each series is counted once per response.', points: ({ scrapes }) => [{ value: scrapes.leftOut }] },
  { name: 'pipespan.store.fullness', type: 'gauge', unit: '1', attributes: [],
    description: 'How much of PIPESPAN_STORE_MAX_SIZE is in use; at 1 or more, webhooks are refused with 503.', points: ({ fullness }) => [{ value: fullness }] },
  { name: 'pipespan.store.in_place', type: 'gauge', unit: '1', attributes: [],
    description: '1 while the files of an SQLite store are those that the daemon opened; 0 while they are removed or replaced, when webhooks are refused with 503.', points: ({ isInPlace }) => one(isInPlace === undefined ? undefined : Number(isInPlace)) },
  { name: 'pipespan.store.damaged_rows', type: 'counter', unit: '{row}', attributes: [],
    description: 'Damaged rows of the store that were skipped; the log names each.', points: ({ damagedRows }) => [{ value: damagedRows }] },
  { name: 'pipespan.store.pruned', type: 'counter', unit: '{row}', attributes: ['kind'],
    description: 'Rows pruned from the store by age or size. Rows of the kind `unserved_exports` were never exported, because their destinations are no longer configured.',
    points: ({ counters }) => [...new Map([...neverExported, ...counters])].flatMap(([name, value]) => name.startsWith('pruned.') ? [{ value, attributes: { kind: name.slice('pruned.'.length) } }] : []) },
  { name: 'pipespan.enrichment.runs', type: 'counter', unit: '{run}', attributes: ['outcome'],
    description: 'Requests for pipeline details: completed, missed (the end of the pipeline had not been reported by a webhook), gone (deleted on the platform) or failed; most failed requests are retried.',
    points: ({ enricher }) => entries({ ...enricher?.counters }, outcome => ({ outcome })) },
  { name: 'pipespan.poller.rounds', type: 'counter', unit: '{round}', attributes: [],
    description: 'Rounds of polling.', points: ({ poller }) => one(poller?.counters.rounds) },
  { name: 'pipespan.poller.requests', type: 'counter', unit: '{request}', attributes: [],
    description: 'List requests of the poller.', points: ({ poller }) => one(poller?.counters.requests) },
  { name: 'pipespan.poller.pipelines', type: 'counter', unit: '{pipeline}', attributes: [],
    description: 'Pipelines that the poller found before a webhook arrived, because the webhook was lost or is late.',
    points: ({ poller }) => one(poller?.counters.discovered) },
  { name: 'pipespan.redelivery.deliveries', type: 'counter', unit: '{delivery}', attributes: ['outcome'],
    description: "Failed deliveries in the platform's delivery log: found, accepted because they were new, or too large for the log.",
    points: ({ redelivery }) => entries({ ...redelivery?.counters }, outcome => ({ outcome })) },
  { name: 'pipespan.platform.budget.available', type: 'gauge', unit: '{request}', attributes: ['platform'],
    description: "Requests to the platform's API available now.", points: ({ budgets }) => budgets.map(one => ({ value: one.available, attributes: namedPlatform(one.platform) })) },
  { name: 'pipespan.platform.budget.paused', type: 'gauge', unit: 's', attributes: ['platform'],
    description: "Time until the platform's rate limit allows requests again.", points: ({ budgets }) => budgets.map(one => ({ value: one.pausedFor / 1000, attributes: namedPlatform(one.platform) })) },
] as const satisfies readonly ObservedMetric[]

// prettier-ignore
export const recordedMetrics = {
  storeDuration: { name: 'pipespan.store.operation.duration', type: 'histogram', unit: 's', attributes: ['operation', 'error'], bounds: operationBounds,
    description: 'Duration of store operations, including the commit.' },
  requestDuration: { name: 'pipespan.export.request.duration', type: 'histogram', unit: 's', attributes: [...queue, 'verdict'], bounds: operationBounds,
    description: 'Time until a backend responded to a request.' },
  requestSize: { name: 'pipespan.export.request.bytes', type: 'counter', unit: 'By', attributes: queue,
    description: 'Bytes sent to backends, before compression.' },
  latency: { name: 'pipespan.export.latency', type: 'histogram', unit: 's', attributes: queue, bounds: waitBounds,
    description: 'Time from the last observation of a pipeline, usually its last webhook, to its delivery to the backend, including the settle delay.' },
  platformRequests: { name: 'pipespan.platform.requests', type: 'counter', unit: '{request}', attributes: ['priority', 'platform'],
    description: "Requests to the platform's API." },
  platformPauses: { name: 'pipespan.platform.pauses', type: 'counter', unit: '{pause}', attributes: ['platform'],
    description: 'Rate-limited responses: 429, or with Retry-After.' },
  platformUnauthorized: { name: 'pipespan.platform.unauthorized', type: 'counter', unit: '{request}', attributes: ['platform'],
    description: "Requests to the platform's API that were answered with 401: the token is missing, expired or revoked." },
  platformLeftOut: { name: 'pipespan.platform.left_out', type: 'counter', unit: '{item}', attributes: ['list'],
    description: "Items of the platform's lists that were left out, because they cannot be read (such as jobs without an id or a status) or because the list is longer than the limit (then at least 1 is counted)." },
  budgetWait: { name: 'pipespan.platform.budget.wait', type: 'histogram', unit: 's', attributes: ['priority', 'platform'], bounds: waitBounds,
    description: "Time that requests to the platform's API waited for their budget." },
} as const satisfies Readonly<Record<string, RecordedMetric>>

export const ownMetrics: readonly (ObservedMetric | RecordedMetric)[] = [
  ...observedMetrics,
  ...Object.values(recordedMetrics),
]

/** Returns the attribute with the platform's name; empty if the platform is configured without a name. */
export function namedPlatform(name: string): { readonly platform?: string } {
  return name === 'default' ? {} : { platform: name }
}

function queueOf({ destination, signal }: ExportQueueStatus): { destination: string; signal: string } {
  return { destination, signal }
}

/** Returns a part's value as a data point; empty if that part is not running. */
function one(value: number | undefined): Point[] {
  return value === undefined ? [] : [{ value }]
}

function entries(
  values: Readonly<Record<string, number | undefined>>,
  attributes: (key: string) => Record<string, string>,
): Point[] {
  return Object.entries(values).map(([key, value]) => ({ value: value ?? 0, attributes: attributes(key) }))
}

/** Returns the age of the oldest item in seconds; 0 if there is none. */
function age(oldest: number | undefined, now: number): number {
  return oldest === undefined ? 0 : Math.max(0, now - oldest) / 1000
}

// Converts the features' counters into rows of the table of the daemon's own metrics.
/** A counter's value, or the values of several counters by key. */
type Counted = number | ReadonlyMap<string, Counted> | { readonly [key: string]: Counted }

interface CountingFeature {
  readonly counts?: readonly CountOf[]
}

/** Returns the metrics for the features' counters. If a feature is not running, its metrics have no data points. */
export function countedMetrics(features: readonly CountingFeature[]): ObservedMetric[] {
  return features
    .flatMap(one => one.counts ?? [])
    .map(({ name, unit, description, counter, attributes = [] }) => ({
      ...{ name, unit, description, type: 'counter' },
      attributes: typeof counter === 'string' ? attributes : [counter.attribute],
      points: ({ counted }) => counted.get(name) ?? [],
    }))
}

/**
 * Returns the data points of a feature's counters, by metric name. `sums` are the counters summed over its parts; undefined if no part is running.
 */
export function countedBy(
  { counts = [] }: CountingFeature,
  sums: { readonly counters: object } | undefined,
): [name: string, points: readonly Point[]][] {
  if (sums === undefined) return []
  const all = new Map(Object.entries<Counted>(sums.counters as Readonly<Record<string, Counted>>))
  return counts.map(({ name, counter, attributes = [] }) => {
    if (typeof counter === 'string') return [name, pointsOf(all.get(counter), attributes)]
    const several = Object.entries(counter.values).map(([value, one]) => [value, all.get(one) ?? {}] as const)
    return [name, pointsOf(new Map(several), [counter.attribute])]
  })
}

/** Returns a counter's data points; empty if the counter is missing. */
function pointsOf(counted: Counted = {}, [attribute, ...others]: readonly string[]): Point[] {
  if (typeof counted === 'number') return [{ value: counted }]
  const entries: [string, Counted][] =
    counted instanceof Map
      ? [...(counted as ReadonlyMap<string, Counted>)]
      : Object.entries<Counted>(counted as Readonly<Record<string, Counted>>)
  return entries.flatMap(([key, one]) =>
    pointsOf(one, others).map(({ value, attributes }) => ({
      value,
      attributes: { ...(attribute !== undefined && { [attribute]: key }), ...attributes },
    })),
  )
}
