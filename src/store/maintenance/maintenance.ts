// Maintenance of the store: forgets what it no longer needs, in small steps, counts it and says so. One replica does it, by lease.
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
  /** The queues that are configured. What is pending for any other is given up in the end. */
  readonly served: readonly ExportQueue[]
  /** How long runs stay once nothing of them is pending; dead letters and deliveries that cannot be decoded too. Milliseconds. */
  readonly retention: number
  /** How long it is remembered what was exported of a pruned run, ms. */
  readonly remember: number
  /** How long figures over time are stored, ms: so long deployments, changes and incidents are. */
  readonly keepFigures: number
  readonly clock: Clock
  readonly log: Log
}

/** Who holds it looks after the store; `pipespan store copy` sees by it that a store is in use. */
export const maintenanceLease = 'maintenance'

/** Between two rounds, ms. */
const every = 600_000
/** A replica that dies is replaced within `leaseMs`. */
const lease = { leaseMs: 30_000, renewMs: 10_000 }
/** Rows of one transaction, and the pause after it, in which others use the store, ms. */
const step = { rows: 50, pause: 5 }

/**
 * A store that is nearly full removes delivered runs before the end of their retention, as otherwise it would have to refuse what is
 * new. `from` this share of its limit on, until `to` that share; not what was delivered in the last `spared` ms, while there is room.
 */
const pressure = { from: 0.9, to: 0.8, spared: 600_000 }

/** What a round did, by the names of the counters. */
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

  /** False when another replica looks after the store, or this one stops. */
  async function mayGoOn(): Promise<boolean> {
    if (stopping) return false
    if (elapsed(clock) - renewed < lease.renewMs) return true
    if (!(await store.leases.take(maintenanceLease, holder, lease.leaseMs))) return false
    renewed = elapsed(clock)
    return true
  }

  /** Repeats a step while there is something to do; answers the sum of what it did. */
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

  async function pruneRuns(before: number): Promise<number> {
    let from: RunCursor | undefined
    return inSteps(
      async () => {
        const { pruned, next } = await pruning.runs(before, step.rows, from)
        from = next
        return pruned
      },
      () => from === undefined,
    )
  }

  /** Only an operator knows whether a destination comes back, and the retention is the time it has to say so. */
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

  /** Until the store has room again, or nothing is left that went to rest before `before`; answers how many runs went. */
  async function pruneEarly(before: number): Promise<number> {
    let from: RunCursor | undefined
    let steps = 0
    return inSteps(
      async () => {
        const { pruned, next } = await pruning.runs(before, step.rows, from)
        from = next
        steps += 1
        // Not after every step: the size is dear to ask for.
        if (steps % 20 === 0 && (await pruning.fullness()) < pressure.to) from = undefined
        return pruned
      },
      () => from === undefined,
    )
  }

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
    let runs = await pruneEarly(now - pressure.spared)
    // As after an outage that filled it: all was delivered just now, and what is new is refused.
    if ((await pruning.fullness()) >= 1) runs += await pruneEarly(now)
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
    // Dead letters first: a run stays as long as one of its exports is a dead letter.
    const old = now - retention
    const pruned: Pruned = {
      dead_letters: await inSteps(async () => pruning.deadLetters(old, step.rows), isShort),
      quarantined_deliveries: await inSteps(async () => pruning.quarantinedDeliveries(old, step.rows), isShort),
      unserved_exports: await giveUpUnserved(old),
      runs: await pruneRuns(old),
      // For as long as a delivery may come again.
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
        // From now on a copy of this store that was begun cannot be continued.
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
