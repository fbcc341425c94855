// Behind the durable line: takes deliveries from the inbox, has them parsed, and merges what they tell into the runs.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { absorbing, type AbsorbRules } from './absorb.ts'
import { createLoop, type Loop } from '../lib/loop.ts'
import { reasonOf } from '../lib/fault.ts'
import { isKnownStatus } from '../model/status.ts'
import type { Clock } from '../lib/clock.ts'
import type { Freezer, Frozen } from './freezer.ts'
import type { Inbox, InboxItem, InboxLease } from '../store/inbox.ts'
import type { Log } from '../lib/log.ts'
import type { Observation } from '../model/observation.ts'
import type { Parsed } from '../platform/parse-delivery.ts'
import type { Runs } from '../store/runs.ts'
import type { Selection } from './selection.ts'

export interface IntakeOptions {
  readonly inbox: Inbox
  readonly runs: Runs
  /** A platform tells of one run by many small deliveries: a transaction takes a few times as many of them. */
  readonly runsPerTransaction: number
  readonly rules: AbsorbRules
  /** For runs that are due the moment they are heard of. */
  readonly freezer: Freezer
  readonly selection: Selection
  /** Never throws. */
  readonly parse: (delivery: InboxItem) => Parsed
  /** What may be kept of a body that could not be understood. */
  readonly redact: (body: Uint8Array) => Uint8Array
  readonly version: string
  /** Called after runs changed: the settler may have something to do. */
  readonly onChange: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface IntakeCounters {
  understood: number
  /** Deliveries that tell nothing of a pipeline or a job. */
  ignored: number
  unparseable: number
  /** Of projects that the configuration leaves out. */
  excluded: number
  /** Single jobs left out of an otherwise understood delivery. */
  droppedJobs: number
  /** Statuses that this version does not know: passed through as they came. */
  unknownStatuses: number
  /** Not taken in because their lease had run out: whoever has them now takes them in. */
  lost: number
}

export interface Intake extends Loop {
  readonly counters: Readonly<IntakeCounters>
  /** Takes in all that waits now. */
  drain(): Promise<void>
}

/** Held many times longer than taking them in lasts: whoever dies or loses the store delays its share by no more. */
const batch = { deliveries: 256, bytes: 16 * 1024 * 1024, holdMs: 15_000 }
/** Deliveries that other processes put back (`pipespan inbox retry`) are seen after this long, ms. */
const idle = 1_000

export function createIntake(options: IntakeOptions): Intake {
  const counters: IntakeCounters = {
    understood: 0,
    ignored: 0,
    unparseable: 0,
    excluded: 0,
    droppedJobs: 0,
    unknownStatuses: 0,
    lost: 0,
  }
  const takeNext = async (): Promise<boolean> => {
    const lease = await options.inbox.lease(batch.deliveries, batch.bytes, batch.holdMs)
    if (lease.items.length === 0) return false
    await digest(lease, counters, options)
    return true
  }
  let retriedOthers = false
  const loop = createLoop({
    name: 'intake',
    clock: options.clock,
    log: options.log,
    turn: async () => {
      if (!retriedOthers) {
        // What an older version could not understand gets one try by this one.
        const back = await options.inbox.retryKeptOfOtherVersions(options.version)
        if (back > 0) options.log.info({ deliveries: back }, 'trying again what another version could not understand')
        retriedOthers = true
      }
      return (await takeNext()) ? 0 : idle
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while (await takeNext());
    },
  }
}

/** What one delivery told. */
interface Told {
  readonly item: InboxItem
  readonly observation: Observation
  /** Number of its run within the lease. */
  readonly run: number
}

async function digest(lease: InboxLease, counters: IntakeCounters, options: IntakeOptions): Promise<void> {
  const { inbox, runsPerTransaction } = options
  const told: Told[] = []
  const runs = new Map<string, number>()
  const silent: number[] = []
  for (const item of lease.items) {
    const parsed = options.parse(item)
    if (parsed.outcome === 'unparseable') {
      counters.unparseable += 1
      await keep(lease, item, parsed.reason, options)
    } else if (parsed.outcome === 'ignored') {
      counters.ignored += 1
      silent.push(item.id)
    } else if (!options.selection.project(parsed.observation.project.path)) {
      counters.excluded += 1
      silent.push(item.id)
    } else {
      counters.understood += 1
      counters.droppedJobs += parsed.dropped
      counters.unknownStatuses += unknownStatuses(parsed.observation)
      const { key } = parsed.observation
      const name = `${key.instance}\n${key.pipelineId}`
      const run = runs.get(name) ?? runs.size
      runs.set(name, run)
      told.push({ item, observation: parsed.observation, run })
    }
  }
  if (silent.length > 0) await inbox.erase(lease.token, silent)
  // What tells of one run goes together: the run is read and written once.
  told.sort((a, b) => a.run - b.run)
  while (told.length > 0) {
    const share = shareOf(told, runsPerTransaction)
    // None is left over alone: among others it can be told whether it or the store is to blame.
    const some = told.splice(0, told.length === share + 1 ? told.length : share)
    try {
      await takeIn(lease, some, counters, options)
    } catch (error) {
      await takeInOneByOne(lease, some, error, counters, options)
    }
    // The settler and the lanes get as many turns: under a flood all of them go on.
    if (told.length > 0) await nextTurn()
  }
}

/** Deliveries of one transaction for each run of it, at most. */
const perRun = 4
/** Bytes of a delivery as it may usually be: a transaction of smaller ones takes more of them. */
const usualSize = 24 * 1024

/** How many of them go into the next transaction: as many as it may change runs, and more where they are small and tell of the same. */
function shareOf(told: readonly Told[], runs: number): number {
  const first = told[0]?.run ?? 0
  let bytes = 0
  let count = 0
  for (const { item, run } of told) {
    bytes += item.body.length
    const fits = run - first < runs && count < runs * perRun && bytes <= runs * usualSize
    if (!fits && count >= runs) break
    count += 1
  }
  return count
}

/** All in one transaction. */
async function takeIn(
  lease: InboxLease,
  told: readonly Told[],
  counters: IntakeCounters,
  options: IntakeOptions,
): Promise<void> {
  const of = (source: InboxItem['source']): Observation[] =>
    told.filter(({ item }) => item.source === source).map(({ observation }) => observation)
  const work = [
    ...absorbing(of('webhook'), 'webhook', options.rules),
    ...absorbing(of('redelivery'), 'redelivery', options.rules),
  ]
  const ids = told.map(({ item }) => item.id)
  const { freezer } = options
  const did: Frozen[][] = work.map(() => [])
  const all = work.map((one, at) => freezer.atOnce(one, did[at] ?? []))
  if (await options.runs.transact(all, { token: lease.token, ids })) {
    freezer.committed(did.flat())
    options.onChange()
    return
  }
  counters.lost += ids.length
  const facts = { lost: ids.length }
  options.log.warn(facts, 'deliveries were taken in too late: their lease had run out, and another replica has them')
}

/**
 * Either the store is in trouble, or one delivery is. It is the store when not one of them can be taken in: then they all
 * stay where they are. What alone cannot be taken in while others can is moved out of their way.
 */
async function takeInOneByOne(
  lease: InboxLease,
  told: readonly Told[],
  trouble: unknown,
  counters: IntakeCounters,
  options: IntakeOptions,
): Promise<void> {
  const failed: { item: InboxItem; reason: string }[] = []
  for (const one of told) {
    try {
      await takeIn(lease, [one], counters, options)
    } catch (error) {
      failed.push({ item: one.item, reason: reasonOf(error) })
    }
  }
  if (failed.length === told.length) throw trouble
  for (const { item, reason } of failed) await keep(lease, item, `It cannot be taken in: ${reason}`, options)
}

async function keep(lease: InboxLease, item: InboxItem, reason: string, options: IntakeOptions): Promise<void> {
  const { inbox, log, redact, version } = options
  await inbox.keep(lease.token, item.id, { reason, body: redact(item.body), version })
  // Told when it can be seen: whoever reads this looks for it.
  log.warn({ delivery: item.id, event: item.event, reason }, 'a delivery could not be understood')
}

function unknownStatuses({ pipeline, jobs }: Observation): number {
  const statuses = [pipeline?.facts.status, ...jobs.map(job => job.facts.status)]
  return statuses.filter(status => status !== undefined && !isKnownStatus(status)).length
}
