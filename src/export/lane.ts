// One lane: a destination's queue for one signal. Its loop leases, its shipments send and settle.
//
// A turn of the loop: is there room in flight? does the destination's circuit breaker (`circuit-breaker.ts`) allow it?
// Then one lease goes off as a shipment (`shipment.ts`), and the next turn comes at once; an empty lease lets the loop rest
// until the next item is due, something new is frozen, a shipment ends or the breaker closes. Lanes share nothing but the breaker
// of their destination, so one that is down delays no other.
import { createLedger, type ExportMeters, type LaneCounters, type LastError } from './ledger.ts'
import { createLoop } from '../lib/loop.ts'
import { reasonOf } from '../lib/fault.ts'
import { Shipment, type Cargo, type Road } from './shipment.ts'
import type { BackoffOptions } from '../lib/backoff.ts'
import { elapsed, timeOfDay, type Clock } from '../lib/clock.ts'
import type { Encode } from './parcel.ts'
import type { Outbox, OutboxLease, ExportQueue } from '../store/ports/outbox.ts'
import type { CircuitState, QueueBreaker, TripCause } from './circuit-breaker.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Sender } from './sender.ts'

export interface LaneLimits {
  /** Items in one lease. */
  readonly batchItems: number
  /** Bytes of one request before compression; a single larger item still goes, alone. */
  readonly batchBytes: number
  /** Bytes of one lease as the store holds them: all of it is in memory at once. */
  readonly leaseBytes: number
  /** Leases under way at a time. */
  readonly inFlight: number
  /** Pauses of the lane after failures, and of an item that is set apart. */
  readonly pauses: BackoffOptions
}

export interface LaneOptions {
  readonly lane: ExportQueue
  readonly exports: Outbox
  readonly encode: Encode
  readonly sender: Sender
  /** The endpoint's time-out, ms. */
  readonly timeoutMs: number
  readonly breaker: QueueBreaker
  readonly limits: LaneLimits
  readonly clock: Clock
  readonly log: Log
  readonly meters?: ExportMeters | undefined
}

export interface LaneView {
  /** Of its circuit breaker. */
  readonly state: CircuitState
  /** Why it is not closed. */
  readonly cause?: TripCause | undefined
  /** When it will try again, while it is not closed. */
  readonly nextTry?: Millis | undefined
  readonly lastError?: LastError | undefined
  readonly lastSuccess?: Millis | undefined
  readonly counters: Readonly<LaneCounters>
}

export interface RunningLane {
  readonly lane: ExportQueue
  start(): void
  /** Something new is owed, or the circuit breaker closed. */
  wake(): void
  /** Resolves when nothing more can be sent now: nothing is due, or the backend does not take it. */
  rest(): Promise<void>
  /** Leases no more; resolves when what is in flight is settled. After `deadlineMs` requests are cut. */
  stop(deadlineMs: number): Promise<void>
  view(): LaneView
}

/** Without news the store is asked at least this often, ms: leases run out, and other processes owe (`dead-letters retry`). */
const longestRest = 1_000
/** And at most this often. */
const shortestRest = 100
/** For settling what was cut, ms. */
const grace = 2_000

export function createLane(options: LaneOptions): RunningLane {
  const { lane, exports, encode, sender, breaker, limits, clock, timeoutMs } = options
  const log = options.log.child({ destination: lane.destination, signal: lane.signal })
  const ledger = createLedger(lane, clock, log, options.meters)
  const inFlight = new Set<Promise<void>>()
  /** A send may take two time-outs; a lease leaves room for more than one send. */
  const longestSend = 2 * timeoutMs + 5_000
  const holdMs = 2 * longestSend + 20_000
  let stopping = false
  /** Shipments whose items the store cannot note at the moment: when their lease runs out these would be leased, and sent, again. */
  let unsettled = 0
  let resting: (() => void)[] = []

  const { batchBytes, pauses } = limits
  const isStopping = (): boolean => stopping
  const road: Road = {
    ...{ exports, encode, sender, breaker, ledger, batchBytes, pauses, longestSend, isStopping, clock, log },
    holdUp: () => {
      unsettled += 1
      return () => (unsettled -= 1)
    },
  }

  const loop = createLoop({
    name: `export of ${lane.signal} to ${lane.destination}`,
    clock,
    log,
    turn: async () => {
      // Those who ask for rest during the turn may know of something that it did not see.
      const waiting = resting
      resting = []
      const rest = await turn().catch((error: unknown) => {
        resting.push(...waiting)
        throw error
      })
      if (rest === 0 || inFlight.size > 0) resting.push(...waiting)
      else for (const resolve of waiting) resolve()
      return rest
    },
  })

  /** Leases and sends off one batch, if it may; answers how long there is nothing to do, ms. */
  async function turn(): Promise<number> {
    if (unsettled > 0) return shortestRest
    if (stopping || inFlight.size >= (breaker.isProven ? limits.inFlight : 1)) return longestRest
    const admission = await breaker.admit()
    if (admission.may === 'wait') return Math.min(admission.ms, longestRest)
    const isProbe = admission.may === 'probe'
    const size = Math.min(admission.items, limits.batchItems)
    const leaseEnd = elapsed(clock) + holdMs
    const leaseEndOfDay = clock.now() + holdMs
    let lease: OutboxLease | undefined
    try {
      lease = await exports.lease(lane, size, holdMs, limits.leaseBytes)
    } finally {
      if (isProbe && (lease === undefined || isEmpty(lease))) breaker.probed()
    }
    if (!isEmpty(lease)) {
      ship({ lease, leaseEnd, leaseEndOfDay, isProbe })
      return 0
    }
    return Math.min(longestRest, Math.max(shortestRest, (await exports.dueIn(lane)) ?? longestRest))
  }

  function ship(cargo: Cargo): void {
    const done = new Shipment(road, cargo)
      .run()
      .catch((error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'what became of exports could not be noted: they may be sent again')
      })
      .finally(() => {
        inFlight.delete(done)
        if (cargo.isProbe) breaker.probed()
        loop.wake()
      })
    inFlight.add(done)
  }

  async function drain(): Promise<void> {
    await loop.stop()
    await Promise.all(inFlight)
  }

  return {
    lane,
    start: () => loop.start(),
    wake: () => loop.wake(),
    rest: () =>
      new Promise(resolve => {
        resting.push(resolve)
        loop.wake()
      }),
    stop: async deadlineMs => {
      stopping = true
      const drained = new AbortController()
      void drain().then(() => drained.abort())
      await clock.sleep(deadlineMs, drained.signal)
      sender.abort()
      await clock.sleep(grace, drained.signal)
      await sender.close()
      for (const resolve of resting.splice(0)) resolve()
    },
    view: () => ({
      state: breaker.state,
      cause: breaker.cause,
      nextTry: timeOfDay(breaker.nextTry, clock),
      lastError: ledger.lastError,
      lastSuccess: ledger.lastSuccess,
      counters: { ...ledger.counters },
    }),
  }
}

function isEmpty({ items, damaged }: OutboxLease): boolean {
  return items.length === 0 && damaged.length === 0
}
