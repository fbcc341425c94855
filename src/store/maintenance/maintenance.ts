// Maintenance of the store: deletes what is no longer needed, in small steps, counts and logs it. The replica with the lease does it.
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { keyMemory } from '../ports/inbox.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { testMemoryMs } from '../ports/test-memory.ts'
import type { ExportQueue } from '../ports/outbox.ts'
import type { Log } from '../../lib/log.ts'
import type { RunCursor } from '../ports/pruning.ts'
import type { Store } from '../ports/store.ts'

export interface MaintenanceOptions {
  readonly store: Pick<
    Store,
    | 'pruning'
    | 'tests'
    | 'deployments'
    | 'changes'
    | 'incidents'
    | 'outbox'
    | 'leases'
    | 'repositories'
    | 'counters'
    | 'now'
  >
  /** The configured queues. What is pending for any other one is dropped in the end. */
  readonly served: readonly ExportQueue[]
  /** How long exported runs, dead letters and quarantined deliveries are stored, ms. */
  readonly retention: number
  /** How long the tombstone of a pruned run is stored, ms. */
  readonly remember: number
  /** How long trends, deployments, changes and incidents are stored, ms. */
  readonly keepFigures: number
  readonly clock: Clock
  readonly log: Log
}

/** The holder maintains the store. As a running daemon holds it, `pipespan store copy` also sees by it that a store is in use. */
export const maintenanceLease = 'maintenance'

/** Between two rounds, ms. */
const every = 600_000
/** A replica that dies is replaced within `leaseMs`. */
const lease = { leaseMs: 30_000, renewMs: 10_000 }
/** Rows of one transaction, and the pause after it for other users of the store, ms. */
const step = { rows: 50, pause: 5 }

/**
 * A store that is nearly full deletes delivered runs before the end of their retention, so that it need not refuse new ones: when it is
 * 90 % full, until it is 80 % full, but not what was delivered in the last ten minutes unless it is completely full.
 */
const pressure = { from: 0.9, to: 0.8, spared: 600_000 }

/** Deleted rows by the names of the counters. */
type Pruned = Record<
  | 'runs'
  | 'events'
  | 'tombstones'
  | 'dead_letters'
  | 'unserved_exports'
  | 'quarantined_deliveries'
  | 'delivery_keys'
  | 'test_reports'
  | 'deployments'
  | 'changes'
  | 'incidents',
  number
>

export function createMaintenance(options: MaintenanceOptions): Loop {
  const { store, served, retention, remember, keepFigures, clock, log } = options
  const { pruning } = store
  const holder = randomUUID()
  let stopping = false
  let renewed = -Infinity
  let nextRound = -Infinity

  /** False if another replica has the lease, or this one stops. */
  async function mayGoOn(): Promise<boolean> {
    if (stopping) return false
    if (elapsed(clock) - renewed < lease.renewMs) return true
    if (!(await store.leases.take(maintenanceLease, holder, lease.leaseMs))) return false
    renewed = elapsed(clock)
    return true
  }

  /** Repeats a step until the last one; returns the sum. */
  async function inSteps(prune: () => Promise<number>, isLast: (done: number) => boolean): Promise<number> {
    let sum = 0
    while (await mayGoOn()) {
      const done = await prune()
      sum += done
      if (isLast(done)) break
      await clock.sleep(step.pause)
    }
    return sum
  }

  /** `isEnough` is asked after every 20 steps only, as the size is expensive to compute. */
  async function pruneRuns(before: number, isEnough?: () => Promise<boolean>): Promise<number> {
    let from: RunCursor | undefined
    let steps = 0
    return inSteps(
      async () => {
        const { pruned, next } = await pruning.runs(before, step.rows, from)
        from = next
        steps += 1
        if (steps % 20 === 0 && (await isEnough?.()) === true) from = undefined
        return pruned
      },
      () => from === undefined,
    )
  }

  /** A destination may be configured again within the retention. */
  async function giveUpUnserved(before: number): Promise<number> {
    let sum = 0
    for (const queue of await store.outbox.queues()) {
      const isServed = served.some(one => one.destination === queue.destination && one.signal === queue.signal)
      if (isServed || queue.pending === 0) continue
      const exports = await inSteps(
        async () => pruning.unserved(queue, before, step.rows),
        done => done < step.rows,
      )
      sum += exports
      const { destination, signal } = queue
      if (exports > 0)
        log.warn(
          { destination, signal, exports },
          'this destination is no longer configured: its pending exports were dropped',
        )
    }
    return sum
  }

  const hasRoom = async (): Promise<boolean> => (await pruning.fullness()) < pressure.to

  async function pruneEventsEarly(before: number): Promise<number> {
    if ((await pruning.fullness()) < pressure.from) return 0
    return inSteps(
      async () => pruning.events(before, step.rows),
      done => done < step.rows,
    )
  }

  async function relieve(): Promise<void> {
    if ((await pruning.fullness()) < pressure.from) return
    const now = await store.now()
    const unserved = await giveUpUnserved(now - pressure.spared)
    let runs = await pruneRuns(now - pressure.spared, hasRoom)
    // An outage of the backend filled it: everything was delivered just now.
    if ((await pruning.fullness()) >= 1) runs += await pruneRuns(now, hasRoom)
    const events = await pruneEventsEarly(now - pressure.spared)
    if (unserved > 0) await store.counters.add('pruned.unserved_exports', unserved)
    if (runs + events === 0) return
    await store.counters.add('pruned.runs_early', runs)
    await store.counters.add('pruned.events_early', events)
    const facts = { runs, events, full: await pruning.fullness() }
    log.warn(facts, 'the store is nearly full: delivered data was pruned before the end of its retention')
  }

  async function round(): Promise<void> {
    const now = await store.now()
    const isShort = (done: number): boolean => done < step.rows
    // Dead letters first, as a run stays as long as it has one.
    const old = now - retention
    const pruned: Pruned = {
      dead_letters: await inSteps(async () => pruning.deadLetters(old, step.rows), isShort),
      quarantined_deliveries: await inSteps(async () => pruning.quarantinedDeliveries(old, step.rows), isShort),
      unserved_exports: await giveUpUnserved(old),
      runs: await pruneRuns(old),
      // As long as its delivery may be repeated, an event must be known.
      events: await inSteps(async () => pruning.events(now - Math.max(retention, keyMemory), step.rows), isShort),
      tombstones: await inSteps(async () => pruning.tombstones(now - remember, step.rows), isShort),
      delivery_keys: await inSteps(async () => pruning.keys(now - keyMemory, step.rows), isShort),
      deployments: await inSteps(async () => store.deployments.prune(now - keepFigures, step.rows), isShort),
      changes: await inSteps(async () => store.changes.prune(now - keepFigures, step.rows), isShort),
      incidents: await inSteps(async () => store.incidents.prune(now - keepFigures, step.rows), isShort),
      test_reports: await inSteps(async () => store.tests.prune(now - testMemoryMs, step.rows), isShort),
    }
    for (const [name, count] of Object.entries(pruned)) if (count > 0) await store.counters.add(`pruned.${name}`, count)
    const bytes = await inSteps(
      async () => pruning.giveBack(),
      given => given === 0,
    )
    const { dead_letters: letters, quarantined_deliveries: deliveries } = pruned
    if (letters > 0) log.warn({ letters }, 'dead letters older than the retention were deleted')
    if (deliveries > 0) log.warn({ deliveries }, 'quarantined deliveries older than the retention were deleted')
    if (Object.values(pruned).some(count => count > 0))
      log.info({ ...pruned, bytesGivenBack: bytes }, 'the store was pruned')
  }

  const loop = createLoop({
    name: 'maintenance',
    clock,
    log,
    turn: async () => {
      if (!(await mayGoOn())) return lease.renewMs
      await relieve()
      if (elapsed(clock) >= nextRound) {
        // An unfinished copy of this store cannot be continued after this.
        const { copy } = store.repositories
        if (nextRound === -Infinity && (await copy.get({})) !== undefined) await copy.remove({})
        await round()
        nextRound = elapsed(clock) + every
      }
      return lease.renewMs
    },
  })
  return {
    ...loop,
    stop: async () => {
      stopping = true
      await loop.stop()
      if (renewed > -Infinity) await store.leases.release(maintenanceLease, holder)
    },
  }
}
