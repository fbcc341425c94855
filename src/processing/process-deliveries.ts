// Writes the observations and events of decoded deliveries into the store: many in one transaction, and one by one if that fails, to find the one to
// blame.
import { ofInstance, type ByInstance } from '../model/by-instance.ts'
import { mergeObservations, type MergeRules } from './merge-observations.ts'
import { changeOfEvent, incidentOfEvent, deploymentOfEvent } from '../model/event-reports.ts'
import { eventChunk, type PlatformEvent } from '../model/event.ts'
import { routed, subjectOf, type Route } from '../model/route.ts'
import { isKnownStatus } from '../model/status.ts'
import { isOfTheData, reasonOf } from '../lib/fault.ts'
import { requestsGoFirst } from '../lib/loop.ts'
import type { Millis } from '../model/instant.ts'
import type { Reported } from '../store/ports/counted.ts'
import type { Snapshotter, SnapshotStep } from './take-snapshots.ts'
import type { Inbox, InboxItem, InboxLease } from '../store/ports/inbox.ts'
import type { Log } from '../lib/log.ts'
import type { Observation } from '../model/observation.ts'
import type { RoutedCondition } from '../model/condition.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { ReceivedEvent } from '../store/ports/events.ts'
import type { Postponed } from './postponed.ts'

export interface ProcessOptions {
  readonly inbox: Inbox
  readonly runs: Runs
  /** A transaction may take a few times as many deliveries, because the platform sends many small ones for each run. */
  readonly runsPerTransaction: number
  readonly rules: MergeRules
  /** For runs that are due as soon as they are observed. */
  readonly snapshotter: Snapshotter
  /** Removes secrets from a body that could not be decoded. */
  readonly redact: (body: Uint8Array, onlyBeginning: boolean) => Uint8Array | Promise<Uint8Array>
  readonly version: string
  /** How events that are about no run are stored; undefined: not at all. */
  readonly events?: EventRules | undefined
  /** What people may be notified about, by an event; undefined: nothing. */
  readonly conditions?: ((event: PlatformEvent, receivedAt: Millis) => readonly RoutedCondition[]) | undefined
  /** Called after runs changed: the settle loop may have something to do. */
  readonly onChange: () => void
  readonly log: Log
}

export interface EventRules {
  readonly to: readonly Route<'logs'>[]
  readonly profile: ByInstance<string>
  /** How long an event waits for its job's span, and how long after its report a deployment, change or incident is counted, ms. */
  readonly wait: number
  /** Called after events were stored: the exporter has something to send. */
  readonly onTaken: () => void
  /** Called after a push was processed that may have changed the CI configuration; undefined: nobody wants to know. */
  readonly onCiPush?: ((event: PlatformEvent) => void) | undefined
}

/** Counted since start, after each commit. */
export interface IntakeCounters {
  processed: number
  /** The part of `processed` that are events not about a pipeline or job. */
  events: number
  /** Those of `events` that were not stored, because no destination takes log records. */
  unclaimedEvents: number
  /** Deliveries about nothing that is exported. */
  ignored: number
  unparseable: number
  /** Deliveries of projects that the configuration excludes. */
  excluded: number
  /** Jobs that were left out of processed deliveries. */
  droppedJobs: number
  /** Statuses that this version does not know: passed through as they came. */
  unknownStatuses: number
  /** Not processed because their lease had expired: another replica has them now. */
  lost: number
}

/** A lease of deliveries, and everything needed to process them. */
export interface LeasedBatch extends ProcessOptions {
  readonly lease: InboxLease
  /** When the lease expires, by `performance.now()`. */
  readonly until: number
  readonly counters: IntakeCounters
  readonly postponed: Postponed<number>
}

/** One delivery with what it reports: of a run, or an event that is about none. */
export interface Decoded {
  readonly item: InboxItem
  readonly observation?: Observation | undefined
  readonly event?: PlatformEvent | undefined
  /** Jobs in it that are left out. */
  readonly dropped: number
  /** Numbers its run, or what the event is about, within the batch. */
  readonly run: number
}

/** Throws if the store fails: the rest is leased again when this lease has expired. */
export async function processAll(batch: LeasedBatch, deliveries: readonly Decoded[]): Promise<void> {
  const { runsPerTransaction, postponed } = batch
  // Deliveries of one run go together: the run is read and written once.
  const rest = deliveries.filter(({ item }) => !postponed.has(item.id)).sort((a, b) => a.run - b.run)
  const errors: unknown[] = []
  while (rest.length > 0) {
    const share = shareOf(rest, runsPerTransaction)
    // Never leaves a single delivery: only beside others can a failure show whether it or the store is to blame.
    const some = rest.splice(0, rest.length === share + 1 ? rest.length : share)
    try {
      await processTogether(batch, some)
    } catch {
      errors.push(...(await processOneByOne(batch, some)))
    }
    // Lets the settle loop and the export queues run, so that exports continue under a flood while their chunks are in memory.
    if (rest.length > 0) await requestsGoFirst()
  }
  // Postponed deliveries come last, one by one, so that none waits for them.
  for (const one of deliveries.filter(({ item }) => postponed.has(item.id))) {
    try {
      await processOneByOne(batch, [one])
    } catch (error) {
      postponed.postpone(one.item.id)
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** The maximum of deliveries of a transaction for each run that it may change. */
const perRun = 4
/** A transaction takes more deliveries than runs while they are smaller than this, bytes. */
const defaultSize = 24 * 1024

/** Bytes of the deliveries of one transaction that changes so many runs. */
export function bytesTogether(runs: number): number {
  return runs * defaultSize
}

/** How many deliveries go into the next transaction: of as many runs as it may change, and several of each run if they are small. */
function shareOf(deliveries: readonly Decoded[], runs: number): number {
  const first = deliveries[0]?.run ?? 0
  let bytes = 0
  let count = 0
  for (const { item, run } of deliveries) {
    bytes += item.body.length
    const fits = run - first < runs && count < runs * perRun && bytes <= bytesTogether(runs)
    if (!fits && count >= runs) break
    count += 1
  }
  return count
}

/** All in one transaction. */
async function processTogether(batch: LeasedBatch, deliveries: readonly Decoded[]): Promise<void> {
  const { counters, snapshotter, lease, rules } = batch
  const of = (source: InboxItem['source']): Observation[] =>
    deliveries.filter(({ item }) => item.source === source).flatMap(({ observation }) => observation ?? [])
  const work = [
    ...mergeObservations(of('webhook'), 'webhook', rules),
    ...mergeObservations(of('redelivery'), 'redelivery', rules),
  ]
  const ids = deliveries.map(({ item }) => item.id)
  const did: SnapshotStep[][] = work.map(() => [])
  const all = work.map((one, at) => snapshotter.atOnce(one, did[at] ?? []))
  const withEvents = deliveries.flatMap(({ item, event }) => (event === undefined ? [] : [{ item, event }]))
  const events = withEvents.flatMap(({ item, event }) => receivedOf(batch, item, event) ?? [])
  const reportedBy = <Of>(read: (event: PlatformEvent, receivedAt: Millis) => Of | undefined): Reported<Of>[] =>
    withEvents.flatMap(({ item, event }) => {
      const report = read(event, item.receivedAt)
      return report === undefined ? [] : [{ report, countIn: batch.events?.wait ?? 0 }]
    })
  const reported = {
    deployments: reportedBy(deploymentOfEvent),
    changes: reportedBy(changeOfEvent),
    incidents: reportedBy(incidentOfEvent),
    conditions: withEvents.flatMap(({ item, event }) => batch.conditions?.(event, item.receivedAt) ?? []),
  }
  if (!(await batch.runs.transact(all, { token: lease.token, ids, events, ...reported }))) {
    counters.lost += ids.length
    const facts = { lost: ids.length }
    batch.log.warn(
      facts,
      'deliveries were processed too late: their lease had expired, and another replica has taken over',
    )
    return
  }
  for (const { event } of withEvents) if (event.touchesCi === true) batch.events?.onCiPush?.(event)
  counters.processed += deliveries.length
  counters.events += withEvents.length
  counters.unclaimedEvents += withEvents.length - events.length
  for (const { observation, dropped } of deliveries) {
    counters.droppedJobs += dropped
    if (observation !== undefined) counters.unknownStatuses += unknownStatuses(observation)
  }
  snapshotter.committed(did.flat())
  if (events.length + reported.conditions.length > 0) batch.events?.onTaken()
  batch.onChange()
}

/** Undefined if no destination takes it: then it is not stored. */
function receivedOf({ events }: LeasedBatch, item: InboxItem, event: PlatformEvent): ReceivedEvent | undefined {
  if (events === undefined || events.to.length === 0) return undefined
  const { to, profile, wait } = events
  const jobId = deploymentOfEvent(event, item.receivedAt)?.jobId
  const chunk = eventChunk(event, item.receivedAt, ofInstance(profile, event.instance))
  const queues = routed(to, subjectOf(event))
  if (queues.length === 0) return undefined
  return { event, chunk, arrival: item.id, to: queues, ...(jobId !== undefined && { waits: { jobId, ms: wait } }) }
}

/**
 * Quarantines each delivery that is itself to blame. Others that fail stay in the inbox and are retried later; returns their errors. Throws if
 * none can be processed, or if a single one is not to blame: then the store has failed.
 */
async function processOneByOne(batch: LeasedBatch, deliveries: readonly Decoded[]): Promise<unknown[]> {
  const { postponed } = batch
  const failed: { readonly item: InboxItem; readonly error: unknown }[] = []
  let tried = 0
  for (const one of deliveries) {
    // The lease has expired, and the rest might take minutes to fail one by one.
    if (tried > 0 && performance.now() > batch.until) break
    tried += 1
    try {
      await processTogether(batch, [one])
      postponed.forget(one.item.id)
    } catch (error) {
      failed.push({ item: one.item, error })
    }
  }
  const unfit = failed.filter(({ error }) => isOfTheData(error))
  const troubled = failed.filter(({ error }) => !isOfTheData(error))
  const runs = new Set(deliveries.slice(0, tried).map(({ run }) => run)).size
  // If all deliveries are of one run, its stored rows may be damaged, and the store works.
  if (failed.length === tried && (runs > 1 || troubled.length > 0)) throw (troubled[0] ?? failed[0])?.error
  for (const { item } of troubled) postponed.postpone(item.id)
  for (const { item, error } of unfit) {
    await quarantine(batch, item, `The delivery cannot be processed: ${reasonOf(error)}`)
    postponed.forget(item.id)
  }
  return troubled.map(({ error }) => error)
}

/** Moves a delivery out of the inbox, with its reason and what may be stored of its body. */
export async function quarantine(batch: LeasedBatch, item: InboxItem, reason: string): Promise<void> {
  const { counters, inbox, lease, log, redact, version } = batch
  // Redacting may crash the process: after the fourth crash only the first bytes are kept.
  const body = await redact(item.body, (item.deaths ?? 0) > 3)
  if (!(await inbox.quarantine(lease.token, item.id, { reason, body, version }))) return
  counters.unparseable += 1
  // Logged after it is stored, so that `pipespan inbox show` finds it.
  log.warn({ delivery: item.id, event: item.event, reason }, 'a delivery is quarantined')
}

function unknownStatuses({ pipeline, jobs }: Observation): number {
  const statuses = [pipeline?.facts.status, ...jobs.map(job => job.facts.status)]
  return statuses.filter(status => status !== undefined && !isKnownStatus(status)).length
}
