// What deliveries told goes into the runs: as many as fit into a transaction together; one by one where that fails, to find out
// whether one of them is to blame.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { absorbing, type AbsorbRules } from './merge-observations.ts'
import { isKnownStatus } from '../model/status.ts'
import { beginningOf } from '../platform/webhook/without-variables.ts'
import { isOfTheData, reasonOf } from '../lib/fault.ts'
import type { Freezer, Frozen } from './take-snapshots.ts'
import type { Inbox, InboxItem, InboxLease } from '../store/ports/inbox.ts'
import type { Log } from '../lib/log.ts'
import type { Observation } from '../model/observation.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { Setbacks } from './postponed.ts'

export interface TakeInOptions {
  readonly inbox: Inbox
  readonly runs: Runs
  /** A platform tells of one run by many small deliveries: a transaction takes a few times as many of them. */
  readonly runsPerTransaction: number
  readonly rules: AbsorbRules
  /** For runs that are due the moment they are heard of. */
  readonly freezer: Freezer
  /** What may be kept of a body that could not be understood. */
  readonly redact: (body: Uint8Array) => Uint8Array
  readonly version: string
  /** Called after runs changed: the settler may have something to do. */
  readonly onChange: () => void
  readonly log: Log
}

/** Counted since start, each when what it counts was committed. */
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

/** Deliveries that are held for a while, and all that it takes to take them in. */
export interface Hold extends TakeInOptions {
  readonly lease: InboxLease
  /** When the lease will have run out, by `performance.now()`. */
  readonly until: number
  readonly counters: IntakeCounters
  readonly setbacks: Setbacks<number>
}

/** What one delivery told. */
export interface Told {
  readonly item: InboxItem
  readonly observation: Observation
  /** Jobs in it that are left out. */
  readonly dropped: number
  /** Number of its run within the lease. */
  readonly run: number
}

/** Throws when the store is in trouble: what was not taken in then comes up again when the lease has run out. */
export async function takeInAll(hold: Hold, told: readonly Told[]): Promise<void> {
  const { runsPerTransaction, setbacks } = hold
  // What tells of one run goes together: the run is read and written once.
  const rest = told.filter(({ item }) => !setbacks.has(item.id)).sort((a, b) => a.run - b.run)
  const troubles: unknown[] = []
  while (rest.length > 0) {
    const share = shareOf(rest, runsPerTransaction)
    // None is left over alone: among others it can be told whether it or something larger is to blame.
    const some = rest.splice(0, rest.length === share + 1 ? rest.length : share)
    try {
      await takeIn(hold, some)
    } catch {
      troubles.push(...(await takeInOneByOne(hold, some)))
    }
    // The settler and the lanes get as many turns: under a flood all of them go on.
    if (rest.length > 0) await nextTurn()
  }
  // Last and each alone: nobody waits for them.
  for (const one of told.filter(({ item }) => setbacks.has(item.id))) {
    try {
      await takeInOneByOne(hold, [one])
    } catch (error) {
      setbacks.note(one.item.id)
      troubles.push(error)
    }
  }
  if (troubles.length > 0) throw troubles[0]
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
async function takeIn(hold: Hold, told: readonly Told[]): Promise<void> {
  const { counters, freezer, lease, rules } = hold
  const of = (source: InboxItem['source']): Observation[] =>
    told.filter(({ item }) => item.source === source).map(({ observation }) => observation)
  const work = [...absorbing(of('webhook'), 'webhook', rules), ...absorbing(of('redelivery'), 'redelivery', rules)]
  const ids = told.map(({ item }) => item.id)
  const did: Frozen[][] = work.map(() => [])
  const all = work.map((one, at) => freezer.atOnce(one, did[at] ?? []))
  if (!(await hold.runs.transact(all, { token: lease.token, ids }))) {
    counters.lost += ids.length
    const facts = { lost: ids.length }
    hold.log.warn(facts, 'deliveries were taken in too late: their lease had run out, and another replica has them')
    return
  }
  counters.understood += told.length
  for (const { observation, dropped } of told) {
    counters.droppedJobs += dropped
    counters.unknownStatuses += unknownStatuses(observation)
  }
  freezer.committed(did.flat())
  hold.onChange()
}

/**
 * Moves out of the way of the others what is itself to blame. Whatever else fails stays where it is and is tried again later,
 * however the others fare: answers the troubles. Throws where not one of several can be taken in, and where one alone is not to
 * blame: then it is no single delivery's fault.
 */
async function takeInOneByOne(hold: Hold, told: readonly Told[]): Promise<unknown[]> {
  const { setbacks } = hold
  const failed: { readonly item: InboxItem; readonly error: unknown }[] = []
  let tried = 0
  for (const one of told) {
    // The rest would be tried in vain, and one after the other perhaps for minutes.
    if (tried > 0 && performance.now() > hold.until) break
    tried += 1
    try {
      await takeIn(hold, [one])
      setbacks.forget(one.item.id)
    } catch (error) {
      failed.push({ item: one.item, error })
    }
  }
  const unfit = failed.filter(({ error }) => isOfTheData(error))
  const troubled = failed.filter(({ error }) => !isOfTheData(error))
  const runs = new Set(told.slice(0, tried).map(({ run }) => run)).size
  // What is stored of a single run may be damaged, however many deliveries tell of it.
  if (failed.length === tried && (runs > 1 || troubled.length > 0)) throw (troubled[0] ?? failed[0])?.error
  for (const { item } of troubled) setbacks.note(item.id)
  for (const { item, error } of unfit) {
    await setAside(hold, item, `What it tells cannot be taken in: ${reasonOf(error)}`)
    setbacks.forget(item.id)
  }
  return troubled.map(({ error }) => error)
}

/** Out of the way of the others, with what may be kept of it. */
export async function setAside(hold: Hold, item: InboxItem, reason: string): Promise<void> {
  const { counters, inbox, lease, log, redact, version } = hold
  // Were it this that kills, all that is left is not to look at it.
  const body = (item.deaths ?? 0) > 3 ? beginningOf(item.body) : redact(item.body)
  if (!(await inbox.quarantine(lease.token, item.id, { reason, body, version }))) return
  counters.unparseable += 1
  // Told when it can be seen: whoever reads this looks for it.
  log.warn({ delivery: item.id, event: item.event, reason }, 'a delivery could not be understood')
}

function unknownStatuses({ pipeline, jobs }: Observation): number {
  const statuses = [pipeline?.facts.status, ...jobs.map(job => job.facts.status)]
  return statuses.filter(status => status !== undefined && !isKnownStatus(status)).length
}
