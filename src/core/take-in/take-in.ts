// Takes in deliveries, from the body to the commit. Webhooks and redelivered webhooks use the same code.
//
// 1. A delivery is parsed on arrival. If nothing in it is exported, it is answered immediately.
// 2. The deliveries that arrived during the previous commit form a group (`groups.ts`).
// 3. One transaction takes in the group. It stores the keys of the deliveries, merges the observations into their runs, takes the snapshots of due
//    runs, and quarantines deliveries that could not be decoded, redacted.
// 4. If the transaction fails, its deliveries are taken in one by one. A delivery that is itself at fault is quarantined and does not affect the
//    others.
// 5. Once the transaction is on disk, the senders are answered. So deliveries are processed in order of arrival.
import { createGroups } from './groups.ts'
import { isOfTheData, reasonOf, StoreError } from '../../lib/fault.ts'
import { isKnownStatus } from '../../model/status.ts'
import { mergeObservations, type MergeRules } from './merge-observations.ts'
import { queuesOf, reportsOf, type EventReporting } from './events.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Observation, ProjectFacts } from '../../model/observation.ts'
import type { Parsed } from '../../platform/port/webhook.ts'
import type { PlatformEvent } from '../../model/event.ts'
import type { Selection } from './selection.ts'
import type { Snapshotter, SnapshotStep } from '../settle/take-snapshots.ts'
import type { Store } from '../store/ports/store.ts'
import type { Undecodable } from '../store/ports/quarantine.ts'

/** A delivery from a verified sender. */
export interface Delivery {
  /** The sender's idempotency key. Undefined if the sender sent none. */
  readonly key?: string | undefined
  /** The event header. Empty if the delivery has none. */
  readonly event: string
  /** The instance header, or the instance of the verified sender. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  readonly body: Uint8Array
}

/**
 * The outcome of a delivery. `accepted`: its changes are on disk; if it could not be decoded, its redacted body is. `duplicate`: a delivery with the
 * same key was accepted before. `full`: the store has reached its size limit. `no object`: the body is not a JSON object. `ignored`: deliveries of
 * this kind are not exported; the value is the kind of event.
 */
export type TakenIn = 'accepted' | 'duplicate' | 'full' | 'no object' | { readonly ignored: string }

export interface TakeInOptions extends EventReporting {
  readonly store: Pick<Store, 'runs' | 'runsPerTransaction' | 'groupsAtOnce' | 'isFull' | 'quarantine'>
  readonly selection: Selection
  /** Parses a delivery. Never throws. */
  readonly parse: (delivery: Delivery) => Parsed
  /** Removes secrets from a body that cannot be decoded. */
  readonly redact: (body: Uint8Array) => Uint8Array
  readonly rules: MergeRules
  /** Takes the snapshots of runs that are due as soon as they are observed. */
  readonly snapshotter: Snapshotter
  readonly version: string
  /** Called after runs have changed, because that may give the settle loop work to do. */
  readonly onChange: () => void
  readonly now: () => Millis
  readonly log: Log
}

/** Counters since the start of the daemon, updated after each commit. */
export interface TakeInCounters {
  processed: number
  /** How many processed deliveries were events about neither a pipeline nor a job. They are included in `processed`. */
  events: number
  /** How many events were not stored because no destination exports log records. They are included in `events`. */
  unclaimedEvents: number
  /** The number of deliveries that contain nothing to export. */
  ignored: number
  unparseable: number
  /** The number of deliveries from projects that the configuration excludes. */
  excluded: number
  /** The number of jobs dropped from processed deliveries. */
  droppedJobs: number
  /** The number of statuses that are unknown to this version. They are exported unchanged. */
  unknownStatuses: number
}

export interface TakeIn {
  readonly counters: Readonly<TakeInCounters>
  /** Resolves when the delivery is on disk. Rejects with a StoreError if the store cannot write, or takes longer than the sender can wait. */
  take(delivery: Delivery): Promise<TakenIn>
  /** Decodes quarantined deliveries again after a person or an upgrade has released them. Returns their number. */
  retryQuarantined(): Promise<number>
  /** Resolves when no deliveries are waiting. */
  drain(): Promise<void>
}

/** The time in ms after which a sender gets a response in any case. Platforms give up after 10 s, and disable webhooks that fail repeatedly. */
const timeout = 5_000
/**
 * The maximum number of deliveries in a group, as a multiple of the number of runs that a transaction may change. It is more than 1 because the
 * platform sends many small deliveries for each run.
 */
const deliveriesPerRun = 2
/** The maximum number of quarantined deliveries that are decoded again at a time. The number is low because their bodies may be large. */
const retriedAtOnce = 16

/** A parsed delivery: an observation, an event, or a delivery that could not be decoded. */
interface Received {
  readonly delivery: Delivery
  readonly receivedAt: Millis
  readonly observation?: Observation | undefined
  readonly event?: PlatformEvent | undefined
  readonly undecodable?: Undecodable | undefined
  /** The number of jobs of the delivery that are dropped. */
  readonly dropped: number
}

export function createTakeIn(options: TakeInOptions): TakeIn {
  const { store, selection, snapshotter, rules, log, version } = options
  const counters: TakeInCounters = {
    ...{ processed: 0, events: 0, unclaimedEvents: 0, ignored: 0, unparseable: 0, excluded: 0, droppedJobs: 0 },
    unknownStatuses: 0,
  }
  const groups = createGroups<Received, TakenIn>({
    maxItems: store.runsPerTransaction * deliveriesPerRun,
    atOnce: store.groupsAtOnce,
    timeout,
    commit: takeGroup,
  })

  function receive(delivery: Delivery, receivedAt: Millis): Received | TakenIn {
    const parsed = options.parse(delivery)
    if (parsed.outcome === 'ignored') {
      counters.ignored += 1
      return { ignored: parsed.kind }
    }
    if (parsed.outcome === 'no object') return 'no object'
    if (parsed.outcome === 'unparseable') {
      return { delivery, receivedAt, dropped: 0, undecodable: undecodable(delivery, receivedAt, parsed.reason) }
    }
    const { project, instance } = ownerOf(parsed)
    if (selection.project(project?.path, instance)) return { delivery, receivedAt, dropped: 0, ...parsed }
    counters.excluded += 1
    return 'accepted'
  }

  function undecodable(delivery: Delivery, receivedAt: Millis, reason: string): Undecodable {
    const { event, instance, source, body } = delivery
    return { event, instance, source, receivedAt, body: options.redact(body), reason, version }
  }

  async function takeGroup(group: readonly Received[]): Promise<readonly (TakenIn | Error)[]> {
    if (await store.isFull()) return group.map(() => 'full')
    try {
      return await together(group)
    } catch (error) {
      return oneByOne(group, error)
    }
  }

  /** Takes in the deliveries of a failed group one by one. The deliveries that remain at the time limit fail, because their senders stop waiting. */
  async function oneByOne(group: readonly Received[], failure: unknown): Promise<readonly (TakenIn | Error)[]> {
    const until = performance.now() + timeout / 2
    const outcomes: (TakenIn | Error)[] = []
    for (const one of group) {
      // A delivery that was not attempted cannot be at fault, so it is never quarantined.
      if (group.length > 1 && performance.now() > until) {
        outcomes.push(outOfTime())
        continue
      }
      try {
        if (group.length === 1) throw failure
        outcomes.push(...(await together([one])))
      } catch (error) {
        outcomes.push(isOfTheData(error) ? await quarantine(one, error) : (error as Error))
      }
    }
    return outcomes
  }

  /** Quarantines a delivery that cannot be processed. */
  async function quarantine(one: Received, error: unknown, retried: readonly number[] = []): Promise<TakenIn | Error> {
    const reason = `The delivery cannot be processed: ${reasonOf(error)}`
    try {
      const { delivery, receivedAt } = one
      const kept = undecodable(delivery, receivedAt, reason)
      const [outcome] = await together([{ delivery, receivedAt, dropped: 0, undecodable: kept }], retried)
      return outcome ?? 'accepted'
    } catch (failure) {
      return failure as Error
    }
  }

  /** Takes in all deliveries of a group in one transaction. `retried`: the ids of the quarantined deliveries that it decodes again. */
  async function together(group: readonly Received[], retried: readonly number[] = []): Promise<TakenIn[]> {
    let did: SnapshotStep[][] = []
    const events = { taken: 0 }
    const areNew = await store.runs.takeIn({
      // The key of a delivery that could not be decoded is not stored, so that the delivery can be sent again.
      keys: group.map(({ delivery, undecodable: kept }) => (kept === undefined ? delivery.key : undefined)),
      plan: isNew => {
        const fresh = group.filter((_, at) => isNew[at])
        const of = (source: Delivery['source']): Observation[] =>
          fresh.filter(({ delivery }) => delivery.source === source).flatMap(({ observation }) => observation ?? [])
        const work = [
          ...mergeObservations(of('webhook'), 'webhook', rules),
          ...mergeObservations(of('redelivery'), 'redelivery', rules),
        ]
        did = work.map(() => [])
        const beside = reportsOf(
          fresh.flatMap(({ event, receivedAt }) => (event === undefined ? [] : [{ event, receivedAt }])),
          options,
        )
        // Reports count as events here, because they may cause notifications, which the exporter must send.
        events.taken = beside.events.length + beside.reports.length
        return {
          work: work.map((one, at) => snapshotter.atOnce(one, did[at] ?? [])),
          beside,
          undecodable: fresh.flatMap(({ undecodable: kept }) => kept ?? []),
          retried,
        }
      },
    })
    const fresh = group.filter((_, at) => areNew[at])
    for (const one of fresh) count(one)
    snapshotter.committed(did.flat())
    if (events.taken > 0) options.events?.onTaken()
    if (fresh.length > 0) options.onChange()
    return areNew.map(isNew => (isNew ? 'accepted' : 'duplicate'))
  }

  /** Decodes a quarantined delivery again. If it contains nothing to export any more, it is deleted. */
  async function retry(one: Received | undefined, id: number): Promise<void> {
    try {
      await together(one === undefined ? [] : [one], [id])
    } catch (error) {
      if (one === undefined || !isOfTheData(error)) throw error
      const outcome = await quarantine(one, error, [id])
      if (outcome instanceof Error) throw outcome
    }
  }

  function count({ observation, event, undecodable: kept, dropped }: Received): void {
    if (kept !== undefined) {
      counters.unparseable += 1
      log.warn({ event: kept.event, reason: kept.reason }, 'a delivery is quarantined: see pipespan inbox list')
      return
    }
    counters.processed += 1
    counters.droppedJobs += dropped
    if (observation !== undefined) counters.unknownStatuses += unknownStatuses(observation)
    if (event === undefined) return
    counters.events += 1
    if (queuesOf(event, options.events).length === 0) counters.unclaimedEvents += 1
  }

  return {
    counters,
    take: async delivery => {
      const received = receive(delivery, options.now())
      return isReceived(received) ? groups.add(received) : received
    },
    retryQuarantined: async () => {
      const found = await store.quarantine.toRetry(retriedAtOnce)
      for (const { id, ...one } of found) {
        const received = receive(one, one.receivedAt)
        await retry(isReceived(received) ? received : undefined, id)
      }
      return found.length
    },
    drain: async () => groups.drain(),
  }
}

function outOfTime(): StoreError {
  return new StoreError(
    'The store takes too long to write single deliveries.',
    'Check that the database is fast enough.',
  )
}

function isReceived(one: Received | TakenIn): one is Received {
  return typeof one === 'object' && 'delivery' in one
}

type Reported = Exclude<Parsed, { outcome: 'ignored' | 'unparseable' | 'no object' }>

function ownerOf(reported: Reported): { readonly project: ProjectFacts | undefined; readonly instance: string } {
  if (reported.outcome === 'event') return { project: reported.event.project, instance: reported.event.instance }
  return { project: reported.observation.project, instance: reported.observation.key.instance }
}

function unknownStatuses({ pipeline, jobs }: Observation): number {
  const statuses = [pipeline?.facts.status, ...jobs.map(job => job.facts.status)]
  return statuses.filter(status => status !== undefined && !isKnownStatus(status)).length
}
