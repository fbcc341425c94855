// Maintenance of the store: deletes rows that are no longer needed, in small steps, and counts and logs the deletions. Only the replica with the
// lease does it.
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../../../lib/loop.ts'
import { createSteps, type Kept, type KeepTimes, type Steps } from './steps.ts'
import { elapsed, type Clock } from '../../../lib/clock.ts'
import { heldFor } from '../../../model/route.ts'
import type { ExportQueue } from '../ports/outbox.ts'
import type { Log } from '../../../lib/log.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Store } from '../ports/store.ts'
import { keyMemory } from '../sql/take-in.ts'
import type { RunCursor } from '../sql/pruning.ts'
import { pressureOf, relieve } from './fullness.ts'
import { reasonOf } from '../../../lib/fault.ts'

export interface MaintenanceOptions extends KeepTimes {
  readonly store: KeptStore & Pick<Store, 'outbox' | 'leases' | 'repositories' | 'counters' | 'now' | 'bringBack'>
  /** The configured export queues. Entries that are pending for other queues are dropped after the retention period. */
  readonly served: readonly ExportQueue[]
  readonly clock: Clock
  readonly log: Log
}

/**
 * The name of the store maintenance lease. A running daemon always holds this lease, so `pipespan store copy` also uses it to detect that a store is
 * in use.
 */
export const maintenanceLease = 'maintenance'

/** The time between two rounds of maintenance, ms. */
const roundIntervalMs = 600_000
/** The duration of the lease and its renewal interval, ms. If the replica with the lease crashes, another one replaces it within `leaseMs`. */
const lease = { leaseMs: 30_000, renewMs: 10_000 }
/** The age in ms up to which entries are kept even if their destination is not configured: another replica may have a newer configuration. */
const unservedSpared = 600_000
/** The time in ms between two checks of the size of a store that is filling up. */
const sizeCheckIntervalMs = 1_000
/** The time between two log messages about early deletions, ms. */
const messageIntervalMs = 60_000
/**
 * How far, in ms, the clock may jump back before stored timestamps are repaired at once. Small differences are ignored, because clocks are adjusted
 * in small steps all the time.
 */
const clockTolerance = 1_000
/** The time between two attempts to repair stored timestamps, ms. */
const repairIntervalMs = 60_000

export function createMaintenance(options: MaintenanceOptions): Loop {
  const { store, served, retention, clock, log } = options
  const { pruning } = store
  const holder = randomUUID()
  let stopping = false
  let renewed = -Infinity
  let nextRound = -Infinity
  let nextRepair = -Infinity
  let clockOffset = -Infinity
  /** The number of rows that have been deleted early but not logged yet, by kind. */
  const unreported = new Map<string, number>()
  let reportedAt = -Infinity

  /** Whether maintenance may continue. Returns false if another replica has the lease, or if this replica is stopping. */
  async function mayGoOn(): Promise<boolean> {
    if (stopping) return false
    if (elapsed(clock) - renewed < lease.renewMs) return true
    if (!(await store.leases.take(maintenanceLease, holder, lease.leaseMs))) return false
    renewed = elapsed(clock)
    return true
  }

  const steps = createSteps(mayGoOn, clock)
  const kept = keptInStore(store, options, steps)

  /**
   * Drops old entries of destinations that are not configured. A destination may be configured again within the retention period. A backlog that is
   * held for a changed endpoint is kept until an operator decides.
   */
  async function giveUpUnserved(before: Millis): Promise<number> {
    let sum = 0
    for (const queue of await store.outbox.queues()) {
      const name = heldFor(queue.destination) ?? queue.destination
      const isServed = served.some(one => one.destination === name && one.signal === queue.signal)
      if (isServed || queue.pending === 0) continue
      const exports = await steps.repeat(async rows => pruning.unserved(queue, before, rows))
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

  /** Counts deleted rows. `pruned` is the number of rows by kind. Returns false if there were none. */
  async function count(pruned: Readonly<Record<string, number>>): Promise<boolean> {
    const some = Object.entries(pruned).filter(([, rows]) => rows > 0)
    for (const [kind, rows] of some) await store.counters.add(`pruned.${kind}`, rows)
    return some.length > 0
  }

  /** Deletes rows early if the store is nearly full. Returns the time in ms until the next call. */
  async function makeRoom(): Promise<number> {
    const fullness = async (): Promise<number> => pruning.fullness()
    const pressure = pressureOf(await fullness())
    if (pressure === 'nearly full') {
      const now = await store.now()
      await count({ unserved_exports: await giveUpUnserved(now - unservedSpared) })
      const early = await relieve({ fullness, kept, now })
      await count(Object.fromEntries([...early].map(([kind, rows]) => [`${kind}_early`, rows])))
      for (const [kind, rows] of early) unreported.set(kind, (unreported.get(kind) ?? 0) + rows)
    }
    if (unreported.size > 0 && elapsed(clock) - reportedAt >= messageIntervalMs) {
      const facts = { ...Object.fromEntries(unreported), full: await fullness() }
      log.warn(facts, 'the store is nearly full; data was pruned before its retention ended')
      unreported.clear()
      reportedAt = elapsed(clock)
    }
    return pressure === 'none' ? lease.renewMs : sizeCheckIntervalMs
  }

  async function round(): Promise<void> {
    const now = await store.now()
    const pruned: Record<string, number> = { unserved_exports: await giveUpUnserved(now - retention) }
    for (const one of kept) {
      await makeRoom()
      pruned[one.kind] = await one.sweep()(now - one.keep)
    }
    const bytes = await steps.repeat(async () => pruning.giveBack())
    const { dead_letters: letters = 0, quarantined_deliveries: deliveries = 0 } = pruned
    if (letters > 0) log.warn({ letters }, 'dead letters older than the retention were deleted')
    if (deliveries > 0) log.warn({ deliveries }, 'quarantined deliveries older than the retention were deleted')
    if (await count(pruned)) log.info({ ...pruned, bytesGivenBack: bytes }, 'the store was pruned')
  }

  /**
   * Repairs stored timestamps that are in the future, at startup and after the clock was set back. Every replica does this, because the lease itself
   * may have been taken while the clock was ahead.
   */
  async function repairTimes(): Promise<void> {
    // The difference between the store's clock and a clock that never jumps. If it has shrunk, the store's clock was ahead before.
    const offset = (await store.now()) - elapsed(clock)
    if (offset < clockOffset - clockTolerance) nextRepair = elapsed(clock)
    clockOffset = offset
    if (elapsed(clock) < nextRepair) return
    nextRepair = elapsed(clock) + repairIntervalMs
    try {
      const rows = await store.bringBack()
      nextRepair = Infinity
      if (rows > 0) log.warn({ rows }, 'a clock was ahead: work scheduled too far in the future is due now')
    } catch (error) {
      // Old rows must be deleted even if the repair of stored timestamps has failed.
      log.error(
        { reason: reasonOf(error) },
        'stored times in the future could not be repaired; the next attempt is in a minute',
      )
    }
  }

  const loop = createLoop({
    name: 'maintenance',
    clock,
    log,
    turn: async () => {
      await repairTimes()
      if (!(await mayGoOn())) return lease.renewMs
      const next = await makeRoom()
      if (elapsed(clock) >= nextRound) {
        // An unfinished copy of this store cannot be resumed once a daemon has started on it.
        const { copy } = store.repositories
        if (nextRound === -Infinity && (await copy.get({})) !== undefined) await copy.remove({})
        await round()
        nextRound = elapsed(clock) + roundIntervalMs
      }
      return next
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

// The retention of each kind of row in the store: how long it is stored, what may be deleted earlier, and how it is deleted.

export type KeptStore = Pick<Store, 'pruning' | 'on' | 'parts'>

const minute = 60_000
const day = 24 * 60 * minute
/**
 * The ages in ms below which rows that the pages show are not deleted early. Recent exports remain visible, unless webhooks would otherwise be
 * rejected.
 */
const shown = { nearlyFull: 10 * minute, full: 0 }
/**
 * The ages in ms below which stored keys are not deleted early. Most late reports arrive within a day, and without the stored key they would be
 * counted or exported again.
 */
const remembered = { nearlyFull: day, full: day }
export function keptInStore(store: KeptStore, times: KeepTimes, steps: Steps): readonly Kept[] {
  const { pruning } = store
  const { retention, remember } = times
  const one = (
    kind: string,
    keep: number,
    spared: Kept['spared'],
    prune: (before: Millis, rows: number) => Promise<number>,
  ): Kept => ({
    ...{ kind, keep, spared },
    sweep: () => async (before, isEnough) => steps.repeat(async rows => prune(before, rows), isEnough),
  })
  return [
    // Dead letters are deleted first, because a run is kept as long as it has a dead letter.
    one('dead_letters', retention, remembered, pruning.deadLetters),
    one('quarantined_deliveries', retention, remembered, pruning.quarantinedDeliveries),
    {
      ...{ kind: 'runs', keep: retention, spared: shown },
      sweep: () => steps.onward<RunCursor>(async (before, rows, from) => pruning.runs(before, rows, from)),
    },
    // An event must be kept for as long as its delivery may be repeated.
    one('events', Math.max(retention, keyMemory), { ...shown, full: shown.nearlyFull }, pruning.events),
    ...store.parts.flatMap(({ kept }) => kept?.(store.on, times, steps) ?? []),
    one('tombstones', remember, remembered, pruning.tombstones),
    one('delivery_keys', keyMemory, undefined, pruning.keys),
  ]
}

// Adds new increments to the metric totals every few seconds, so that the next reader need not add up many rows.

/**
 * The time between two updates of the totals, ms. The longer it is, the more pipelines share one write to a series, and the more rows wait to be
 * added.
 */
const foldEvery = 5_000

export function createTotalsLoop(store: Pick<Store, 'totals'>, clock: Clock, log: Log): Loop {
  return createLoop({
    name: 'totals',
    clock,
    log,
    turn: async () => {
      await store.totals.fold()
      return foldEvery
    },
  })
}
