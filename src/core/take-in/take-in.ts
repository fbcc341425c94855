// How a received delivery becomes part of its run, from its body to the commit. Webhooks and deliveries that are read again both come this way.
//
// 1. The delivery is parsed when it arrives. One about nothing that is exported is answered at once.
// 2. What has arrived while the commit before was under way forms a group (`groups.ts`).
// 3. The group is taken in with one transaction: its keys are remembered, its observations are merged into their runs, runs that are due get
//    their snapshots, and what could not be decoded is kept, redacted.
// 4. If that fails, its deliveries are taken in one by one: one that is itself to blame is quarantined and harms no other.
// 5. The senders are answered when the transaction is on the disk. So the order of arrival is the order of processing.
import { createGroups } from './groups.ts'
import { isOfTheData, reasonOf } from '../../lib/fault.ts'
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

/** A delivery whose sender was verified. */
export interface Delivery {
  /** The sender's idempotency key; undefined when it sent none. */
  readonly key?: string | undefined
  /** The event header; empty if there was none. */
  readonly event: string
  /** The instance header, or the instance of the verified sender. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  readonly body: Uint8Array
}

/**
 * `accepted`: its changes are on the disk; or, if it cannot be decoded, what could be kept of it. `duplicate`: a delivery with its key was
 * accepted before. `full`: the store has reached its size limit. `no object`: its body is no JSON object. `ignored`: its kind of event, which is
 * not selected.
 */
export type TakenIn = 'accepted' | 'duplicate' | 'full' | 'no object' | { readonly ignored: string }

export interface TakeInOptions extends EventReporting {
  readonly store: Pick<Store, 'runs' | 'runsPerTransaction' | 'groupsAtOnce' | 'isFull' | 'quarantine'>
  readonly selection: Selection
  /** Never throws. */
  readonly parse: (delivery: Delivery) => Parsed
  /** Removes secrets from a body that could not be decoded. */
  readonly redact: (body: Uint8Array) => Uint8Array
  readonly rules: MergeRules
  /** For runs that are due as soon as they are observed. */
  readonly snapshotter: Snapshotter
  readonly version: string
  /** Called after runs changed: the settle loop may have something to do. */
  readonly onChange: () => void
  /** Unix time in milliseconds. */
  readonly now: () => Millis
  readonly log: Log
}

/** Counted since start, after each commit. */
export interface TakeInCounters {
  processed: number
  /** The part of `processed` that are events not about a pipeline or job. */
  events: number
  /** The part of `events` that was not stored, because no destination takes log records. */
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
}

export interface TakeIn {
  readonly counters: Readonly<TakeInCounters>
  /** Resolves when it is on the disk. Rejects with a StoreError if the store cannot write, or not soon enough for its sender. */
  take(delivery: Delivery): Promise<TakenIn>
  /** Decodes again the quarantined deliveries that a person or an upgrade has put back. Returns how many. */
  retryQuarantined(): Promise<number>
  /** Resolves when nothing waits. */
  drain(): Promise<void>
}

/** Platforms give up after 10 s and disable hooks that fail, so they get an answer before, ms. */
const timeout = 5_000
/** Deliveries of a group for each run that a transaction may change: the platform sends many small ones for each run. */
const perRun = 2
/** Quarantined deliveries that are decoded again at a time; their bodies may be large. */
const retriedAtOnce = 16

/** A delivery that was parsed. One of the three is set. */
interface Received {
  readonly delivery: Delivery
  readonly receivedAt: Millis
  readonly observation?: Observation | undefined
  readonly event?: PlatformEvent | undefined
  readonly undecodable?: Undecodable | undefined
  /** Jobs in it that are left out. */
  readonly dropped: number
}

export function createTakeIn(options: TakeInOptions): TakeIn {
  const { store, selection, snapshotter, rules, log, version } = options
  const counters: TakeInCounters = {
    ...{ processed: 0, events: 0, unclaimedEvents: 0, ignored: 0, unparseable: 0, excluded: 0, droppedJobs: 0 },
    unknownStatuses: 0,
  }
  const groups = createGroups<Received, TakenIn>({
    maxItems: store.runsPerTransaction * perRun,
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

  /** Deliveries for which no time is left fail with the error of the one before. */
  async function oneByOne(group: readonly Received[], failure: unknown): Promise<readonly (TakenIn | Error)[]> {
    const until = performance.now() + timeout / 2
    const outcomes: (TakenIn | Error)[] = []
    let error = failure
    for (const one of group) {
      try {
        if (group.length === 1 || performance.now() > until) throw error
        outcomes.push(...(await together([one])))
      } catch (caught) {
        error = caught
        outcomes.push(isOfTheData(error) ? await instead(one, error) : (error as Error))
      }
    }
    return outcomes
  }

  /** Keeps a delivery that cannot be processed. */
  async function instead(one: Received, error: unknown, retried: readonly number[] = []): Promise<TakenIn | Error> {
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

  /** All in one transaction. `retried`: the quarantined deliveries that they were. */
  async function together(group: readonly Received[], retried: readonly number[] = []): Promise<TakenIn[]> {
    let did: SnapshotStep[][] = []
    const events = { taken: 0 }
    const areNew = await store.runs.takeIn({
      // A delivery that could not be decoded may be sent again.
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
        // Some of the reports may make messages to people.
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

  /** Takes in one that was quarantined, or forgets it if it is about nothing that is exported any more. */
  async function retry(one: Received | undefined, id: number): Promise<void> {
    try {
      await together(one === undefined ? [] : [one], [id])
    } catch (error) {
      if (one === undefined || !isOfTheData(error)) throw error
      const outcome = await instead(one, error, [id])
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
