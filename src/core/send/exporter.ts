// All export queues of all destinations. Starts, wakes, flushes and stops them together, and returns the status of each.
import { ConfigError } from '../../lib/fault.ts'
import { createExportQueue, type QueueLimits, type QueueView, type RunningQueue } from './export-queue.ts'
import { createSender } from './sender.ts'
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Destination } from './destination.ts'
import type { ExportMeters } from './export-stats.ts'
import type { Outbox, ExportQueue, ExportQueueState, Signal } from '../store/ports/outbox.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import { heldFor } from '../../model/route.ts'

export interface ExporterOptions {
  readonly destinations: readonly Destination[]
  readonly outbox: Outbox
  readonly clock: Clock
  readonly log: Log
  readonly meters?: ExportMeters | undefined
  /** Values that override the default limits. */
  readonly limits?: Partial<QueueLimits> | undefined
  /** The pauses between probes of a destination that rejects the credentials or every request. */
  readonly probes?: BackoffOptions | undefined
}

export interface ExportQueueStatus extends ExportQueue, Omit<QueueView, 'state'> {
  /**
   * The state of the queue. `unserved`: exports are pending for a destination or signal that is no longer configured. `held`: exports are pending for
   * a destination whose endpoint has changed (`held-backlog.ts`).
   */
  readonly state: QueueView['state'] | 'unserved' | 'held'
  readonly pending: number
  /** When the oldest pending entry became pending. */
  readonly oldest?: Millis | undefined
  /** The number of dead letters. */
  readonly dead: number
  /** The number of pending entries that were sent without success and postponed. */
  readonly putOff: number
}

export interface Exporter {
  start(): void
  /** Wakes the queues because a snapshot was taken, or a token changed. This call is cheap. */
  wake(): void
  /** Sends the due entries. Resolves when no queue can send more now, at the latest after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void>
  /**
   * Stops leasing and finishes the requests in flight. Those that are still in flight after `deadlineMs` are aborted, and their entries stay pending.
   */
  stop(deadlineMs: number): Promise<void>
  /**
   * Called when an operator reports that the backend is available again. Postponed entries become due at once, and this process sends a probe. Other
   * replicas wait until their own pauses end; meanwhile this process sends the due entries.
   */
  tryNow(destination?: string): Promise<TriedNow>
  status(): Promise<readonly ExportQueueStatus[]>
}

export interface TriedNow {
  /** The number of postponed exports that became due. */
  readonly due: number
  /** The number of queues whose circuit breaker was open. */
  readonly probes: number
}

const defaultLimits: QueueLimits = {
  batchItems: 100,
  batchBytes: 4 * 1024 * 1024,
  // 256 KiB are about a hundred chunks of twenty jobs each. Decompressed, they take fifteen times as much memory, so a lease must not be much larger.
  // Processing a lease takes several turns of the event loop, and deliveries may be taken in during each of them. So a lease must not be much smaller
  // either: with forty chunks per lease, exports fell behind the deliveries under full load.
  leaseBytes: 256 * 1024,
  inFlight: 4,
  pauses: { first: 1_000, max: 300_000 },
}
const defaultProbes: BackoffOptions = { first: 1_000, max: 60_000 }

/** Creates the exporter. Throws ConfigError if two destinations have the same name, or if a TLS file cannot be read. */
export function createExporter(options: ExporterOptions): Exporter {
  const { outbox, clock } = options
  const queues = options.destinations.flatMap((destination, index) => {
    const { name } = destination
    if (options.destinations.findIndex(other => other.name === name) !== index) {
      throw new ConfigError(
        `Two destinations are named "${name}".`,
        'Give each a unique name: pending exports are stored under it.',
      )
    }
    return queuesOf(destination, options)
  })

  return {
    start: () => queues.forEach(queue => queue.start()),
    wake: () => queues.forEach(queue => queue.wake()),
    flush: async deadlineMs => {
      const rested = new AbortController()
      void Promise.all(queues.map(async queue => queue.rest())).then(() => rested.abort())
      await clock.sleep(deadlineMs, rested.signal)
    },
    stop: async deadlineMs => {
      await Promise.all(queues.map(async queue => queue.stop(deadlineMs)))
    },
    tryNow: async destination => {
      const chosen = queues.filter(({ queue }) => destination === undefined || queue.destination === destination)
      const tried = await Promise.all(chosen.map(async one => one.tryNow()))
      return {
        due: tried.reduce((sum, { due }) => sum + due, 0),
        probes: tried.filter(({ wasOpen }) => wasOpen).length,
      }
    },
    status: async () => statusOf(queues, await outbox.queues()),
  }
}

function queuesOf(
  { name, signals, bearer, proxy, headerValues, takes }: Destination,
  { outbox, clock, log, meters, probes = defaultProbes, ...options }: ExporterOptions,
): RunningQueue[] {
  const limits = { ...defaultLimits, ...options.limits }
  const address = { isProven: false }
  return Object.entries(signals).map(([key, endpoint]) => {
    const signal = key as Signal
    return createExportQueue({
      ...{ queue: { destination: name, signal }, outbox, headerValues, takes, bearer, address },
      sender: createSender({ signal, endpoint, bearer, proxy, connections: limits.inFlight, clock }),
      ...{ timeoutMs: endpoint.timeoutMs, limits, probes, clock, log, meters },
    })
  })
}

function statusOf(running: readonly RunningQueue[], stored: readonly ExportQueueState[]): ExportQueueStatus[] {
  const isOf = (queue: ExportQueue) => (other: ExportQueue) =>
    other.destination === queue.destination && other.signal === queue.signal
  const served = running.map(one => {
    const { queue } = one
    const { pending = 0, dead = 0, putOff = 0, oldest } = stored.find(isOf(queue)) ?? {}
    return { ...queue, ...one.view(), pending, dead, putOff, oldest }
  })
  const unserved = stored
    .filter(queue => queue.pending > 0 && !served.some(isOf(queue)))
    .map(({ destination, signal, pending, dead, putOff, oldest }) => {
      const counters = { delivered: 0, repeated: 0, rejected: 0, later: 0, partiallyRejected: 0, lost: 0 }
      const state = heldFor(destination) === undefined ? ('unserved' as const) : ('held' as const)
      return { destination, signal, pending, dead, putOff, oldest, counters, state }
    })
  return [...served, ...unserved]
}
