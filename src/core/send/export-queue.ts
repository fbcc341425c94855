// One export queue: the pending entries of one destination and one signal. Its loop leases batches, sends them and settles their entries.
//
// Each turn of the loop checks the limit of requests in flight and the circuit breaker (`circuit-breaker.ts`). Then it leases a batch and sends it
// (`batch.ts`), and the next turn starts at once. If nothing is due, the loop waits until an entry is due, a snapshot is taken or a batch ends.
// Queues are independent of each other, so a destination that is down delays no other queue.
import { Batch, type BatchContext, type LeasedBatch } from './batch.ts'
import { CircuitBreaker, type CircuitState, type TripCause } from './circuit-breaker.ts'
import { createExportStats, type ExportMeters, type ExportCounters, type LastError } from './export-stats.ts'
import { createLoop } from '../../lib/loop.ts'
import { elapsed, timeOfDay } from '../../lib/clock.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Destination } from './destination.ts'
import type { Outbox, ExportQueue } from '../store/ports/outbox.ts'
import type { Millis } from '../../model/instant.ts'
import type { Sender } from './sender.ts'

/**
 * The limits of an export queue. `pauses` are the delays between two attempts to send an entry, and between two probes of an unavailable endpoint.
 */
export interface QueueLimits extends Pick<BatchContext, 'batchBytes' | 'pauses'> {
  /** The maximum number of entries in one lease. */
  readonly batchItems: number
  /** The maximum number of bytes in one lease, as stored. All of a lease is in memory at once. */
  readonly leaseBytes: number
  /** The maximum number of leases that are processed concurrently. */
  readonly inFlight: number
}

export interface ExportQueueOptions extends Pick<
  BatchContext,
  'queue' | 'headerValues' | 'takes' | 'address' | 'clock' | 'log'
> {
  readonly outbox: Outbox
  readonly sender: Sender
  readonly bearer: Destination['bearer']
  readonly timeoutMs: number
  readonly limits: QueueLimits
  /** The pauses between probes of an endpoint that rejects the credentials or every request. */
  readonly probes: BackoffOptions
  readonly meters?: ExportMeters | undefined
}

export interface QueueView {
  readonly state: CircuitState
  /** Why the circuit breaker is open or half-open. */
  readonly cause?: TripCause | undefined
  /** When the queue will send the next probe; set while its circuit breaker is not closed. */
  readonly nextTry?: Millis | undefined
  readonly lastError?: LastError | undefined
  readonly lastSuccess?: Millis | undefined
  readonly counters: Readonly<ExportCounters>
}

export interface RunningQueue {
  readonly queue: ExportQueue
  start(): void
  /** Wakes the queue because a new entry is pending. */
  wake(): void
  /** Makes delayed entries due, and ends the pause of the queue's circuit breaker. */
  tryNow(): Promise<{ readonly due: number; readonly wasOpen: boolean }>
  /** Resolves when the queue can send nothing more for now: no entry is due, or the backend does not accept requests. */
  rest(): Promise<void>
  /** Stops leasing, and resolves when the entries in flight are settled. Requests are aborted after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
  view(): QueueView
}

/**
 * The maximum time between two queries of the store, ms. Only a query reveals that a lease has expired, or that another process has added entries
 * (`dead-letters retry`).
 */
const maxRest = 1_000
/** The minimum time between two queries of the store, ms. */
const minRest = 100
/** The maximum time in ms that settling may take after requests were aborted. */
const maxSettleMs = 2_000

export function createExportQueue(options: ExportQueueOptions): RunningQueue {
  const { queue, outbox, sender, bearer, limits, probes, clock, timeoutMs } = options
  const log = options.log.child({ destination: queue.destination, signal: queue.signal })
  const breaker = new CircuitBreaker({ bearer, pauses: limits.pauses, probes, clock, log })
  const stats = createExportStats(queue, clock, log, options.meters)
  const inFlight = new Set<Promise<void>>()
  /** A send takes at most twice the timeout, and a lease lasts long enough for two sends. */
  const maxSend = 2 * timeoutMs + 5_000
  const leaseMs = 2 * maxSend + 20_000
  let stopping = false
  /**
   * The number of batches that the store could not settle. When their leases expire, their entries would be leased and sent again, so the queue
   * leases nothing in the meantime.
   */
  let unsettled = 0
  let resting: (() => void)[] = []

  const context: BatchContext = {
    ...options,
    ...limits,
    ...{ breaker, stats, maxSend, log, isStopping: () => stopping },
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
      // An entry may have been added after this turn's lease but before `rest` was called, so `rest` resolves only after the next turn.
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

  /** Leases one batch and starts to send it, if the circuit breaker allows it. Returns the time in ms until the next turn. */
  async function turn(): Promise<number> {
    if (unsettled > 0) return minRest
    if (stopping || inFlight.size >= (breaker.isProven ? limits.inFlight : 1)) return maxRest
    const items = await breaker.admit()
    if (items === 0) return Math.min(Math.max(1, breaker.pause), maxRest)
    const leaseEnd = elapsed(clock) + leaseMs
    const leaseEndOfDay = clock.now() + leaseMs
    const lease = await outbox.lease(queue, Math.min(items, limits.batchItems), leaseMs, limits.leaseBytes)
    if (lease.items.length === 0) return Math.min(maxRest, Math.max(minRest, (await outbox.dueIn(queue)) ?? maxRest))
    stats.count('repeated', lease.repeated)
    send({ lease, leaseEnd, leaseEndOfDay })
    return 0
  }

  function send(batch: LeasedBatch): void {
    const done = new Batch(context, batch)
      .send()
      .catch((error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'export results could not be stored; these exports may be sent again')
      })
      .finally(() => {
        inFlight.delete(done)
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
    tryNow: async () => {
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
      await clock.sleep(maxSettleMs, drained.signal)
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
