// One export queue: the pending entries of one destination and one signal. Its loop leases batches, which are sent and settled.
//
// Each turn of the loop checks the limit of requests in flight and the destination's circuit breaker (`circuit-breaker.ts`). Then a batch is leased and
// sent (`batch-sender.ts`), and the next turn begins at once. If nothing is due, the loop rests until an entry is due, a snapshot is taken, a batch
// ends or the breaker closes. Queues only share the breaker of their destination, so one that is down delays no other.
import { createExportStats, type ExportMeters, type ExportCounters, type LastError } from './export-stats.ts'
import { createLoop } from '../lib/loop.ts'
import { reasonOf } from '../lib/fault.ts'
import { BatchSender, type LeasedBatch, type BatchContext } from './batch-sender.ts'
import { elapsed, timeOfDay } from '../lib/clock.ts'
import type { Outbox, OutboxLease, ExportQueue } from '../store/ports/outbox.ts'
import type { CircuitState, TripCause } from './circuit-breaker.ts'
import type { Millis } from '../model/instant.ts'
import type { Sender } from './sender.ts'
import type { TryWatch } from './try-requests.ts'

/** The pauses are also those of the queue. */
export interface QueueLimits extends Pick<BatchContext, 'batchBytes' | 'pauses'> {
  /** Entries in one lease. */
  readonly batchItems: number
  /** Bytes of one lease as stored; it is in memory as a whole. */
  readonly leaseBytes: number
  /** Leases under way at a time. */
  readonly inFlight: number
}

export interface ExportQueueOptions extends Pick<
  BatchContext,
  'encode' | 'encodeNoted' | 'headerValues' | 'takes' | 'breaker' | 'clock' | 'log'
> {
  readonly queue: ExportQueue
  readonly outbox: Outbox
  readonly sender: Sender
  /** The endpoint's time-out, ms. */
  readonly timeoutMs: number
  /** Undefined: no other replica is asked to try now. */
  readonly tries?: TryWatch | undefined
  readonly limits: QueueLimits
  readonly meters?: ExportMeters | undefined
}

export interface QueueView {
  /** The state of its circuit breaker. */
  readonly state: CircuitState
  /** Why the circuit breaker is not closed. */
  readonly cause?: TripCause | undefined
  /** When it will try again, while it is not closed. */
  readonly nextTry?: Millis | undefined
  readonly lastError?: LastError | undefined
  readonly lastSuccess?: Millis | undefined
  readonly counters: Readonly<ExportCounters>
}

export interface RunningQueue {
  readonly queue: ExportQueue
  start(): void
  /** Something new is pending, or the circuit breaker closed. */
  wake(): void
  /** Ends the pause of its circuit breaker, and makes delayed entries due. `asked`: when, by the store's clock. */
  tryNow(asked?: Millis): Promise<{ readonly due: number; readonly wasOpen: boolean }>
  /** Resolves when nothing more can be sent now: nothing is due, or the backend does not take it. */
  rest(): Promise<void>
  /** Leases no more; resolves when what is in flight is settled. After `deadlineMs` requests are cut. */
  stop(deadlineMs: number): Promise<void>
  view(): QueueView
}

/** The store is queried at least this often, ms, because leases expire and other processes add entries (`dead-letters retry`). */
const maxRest = 1_000
/** And at most this often. */
const minRest = 100
/** How long settling may take after requests were cut, ms. */
const grace = 2_000

export function createExportQueue(options: ExportQueueOptions): RunningQueue {
  const { queue, outbox, sender, breaker, tries, limits, clock, timeoutMs } = options
  const log = options.log.child({ destination: queue.destination, signal: queue.signal })
  const stats = createExportStats(queue, clock, log, options.meters)
  const inFlight = new Set<Promise<void>>()
  /** A send may take two time-outs, and a lease has room for two sends. */
  const maxSend = 2 * timeoutMs + 5_000
  const leaseMs = 2 * maxSend + 20_000
  let stopping = false
  /** Batches that the store fails to settle. When their leases expire, their entries would be leased and sent again, so nothing is leased meanwhile. */
  let unsettled = 0
  let resting: (() => void)[] = []

  const context: BatchContext = {
    ...options,
    ...limits,
    ...{ stats, maxSend, log, isStopping: () => stopping },
    pauseLeasing: () => {
      unsettled += 1
      return () => (unsettled -= 1)
    },
  }

  const loop = createLoop({
    name: `export of ${queue.signal} to ${queue.destination}`,
    clock,
    log,
    turn: async () => {
      // An entry may have been added after this turn's lease and before a call of `rest`, which therefore resolves only after the next turn.
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

  /** Leases one batch and begins to send it, if allowed; returns how long there is nothing to do, ms. */
  async function turn(): Promise<number> {
    if (unsettled > 0) return minRest
    if (stopping || inFlight.size >= (breaker.isProven ? limits.inFlight : 1)) return maxRest
    const admission = await breaker.admit()
    if (admission.may === 'wait') {
      const { trippedSince } = breaker
      if (trippedSince === undefined || (await tries?.isAsked(trippedSince)) !== true)
        return Math.min(admission.ms, maxRest)
      log.info('somebody asked another replica to try now: the circuit breaker lets a probe through')
      return breaker.tryNow() ? 0 : minRest
    }
    const isProbe = admission.may === 'probe'
    const size = Math.min(admission.items, limits.batchItems)
    const leaseEnd = elapsed(clock) + leaseMs
    const leaseEndOfDay = clock.now() + leaseMs
    let lease: OutboxLease | undefined
    try {
      lease = await outbox.lease(queue, size, leaseMs, limits.leaseBytes)
    } finally {
      if (isProbe && (lease === undefined || isEmpty(lease))) breaker.probed()
    }
    if (!isEmpty(lease)) {
      stats.count('repeated', lease.repeated)
      send({ lease, leaseEnd, leaseEndOfDay, isProbe })
      return 0
    }
    return Math.min(maxRest, Math.max(minRest, (await outbox.dueIn(queue)) ?? maxRest))
  }

  function send(batch: LeasedBatch): void {
    const done = new BatchSender(context, batch)
      .run()
      .catch((error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'export results could not be stored; these exports may be sent again')
      })
      .finally(() => {
        inFlight.delete(done)
        if (batch.isProbe) breaker.probed()
        loop.wake()
      })
    inFlight.add(done)
  }

  async function drain(): Promise<void> {
    await loop.stop()
    await Promise.all(inFlight)
  }

  return {
    queue,
    start: () => loop.start(),
    wake: () => loop.wake(),
    tryNow: async asked => {
      if (asked !== undefined) tries?.heeded(asked)
      const due = await outbox.makeDue(queue)
      const wasOpen = breaker.tryNow()
      loop.wake()
      return { due, wasOpen }
    },
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
      lastError: stats.lastError,
      lastSuccess: stats.lastSuccess,
      counters: { ...stats.counters },
    }),
  }
}

function isEmpty({ items, damaged }: OutboxLease): boolean {
  return items.length === 0 && damaged.length === 0
}
