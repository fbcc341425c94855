// All lanes of all destinations: started, woken, flushed and stopped together, and what can be told of them.
import { ConfigError } from '../lib/fault.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createLane, type LaneLimits, type LaneView, type RunningLane } from './lane.ts'
import { createSender } from './sender.ts'
import type { BackoffOptions } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Destination } from './destination.ts'
import type { Encode } from './parcel.ts'
import type { ExportMeters } from './ledger.ts'
import type { Outbox, ExportQueue } from '../store/ports/outbox.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Signal } from '../store/ports/runs.ts'

export interface ExporterOptions {
  readonly destinations: readonly Destination[]
  readonly exports: Outbox
  /** One for each signal that a destination takes. */
  readonly encode: Readonly<Partial<Record<Signal, Encode>>>
  readonly clock: Clock
  readonly log: Log
  readonly meters?: ExportMeters | undefined
  /** What differs from the defaults. */
  readonly limits?: Partial<LaneLimits> | undefined
  /** Pauses between probes of a destination that refuses credentials, or everything. */
  readonly probes?: BackoffOptions | undefined
}

export interface ExportQueueStatus extends ExportQueue, Omit<LaneView, 'state'> {
  /** `unserved`: exports are owed to a destination or signal that is not configured any more. */
  readonly state: LaneView['state'] | 'unserved'
  readonly pending: number
  /** Since when the oldest is owed. */
  readonly oldest?: Millis | undefined
  /** Dead letters. */
  readonly dead: number
}

export interface Exporter {
  start(): void
  /** Something was frozen, or a token changed. Cheap. */
  wake(): void
  /** Sends what is due; resolves when no lane can send more now, at the latest after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void>
  /** Leases no more and finishes what is in flight; after `deadlineMs` requests are cut and their items stay owed. */
  stop(deadlineMs: number): Promise<void>
  status(): Promise<readonly ExportQueueStatus[]>
}

const defaultLimits: LaneLimits = {
  batchItems: 100,
  batchBytes: 4 * 1024 * 1024,
  // What is leased is held as objects, three times as large, by each request in flight of each lane: a hundred usual parts.
  leaseBytes: 2 * 1024 * 1024,
  inFlight: 4,
  pauses: { first: 1_000, max: 300_000 },
}
const defaultProbes: BackoffOptions = { first: 1_000, max: 60_000 }

/** Throws ConfigError for two destinations of one name, an unreadable TLS file, or a signal that nothing encodes. */
export function createExporter(options: ExporterOptions): Exporter {
  const { exports, clock } = options
  const lanes = options.destinations.flatMap((destination, index) => {
    const { name } = destination
    if (options.destinations.findIndex(other => other.name === name) !== index) {
      throw new ConfigError(`Two destinations are named "${name}".`, 'Give each its own name: exports are owed by it.')
    }
    return lanesOf(destination, options)
  })

  return {
    start: () => lanes.forEach(lane => lane.start()),
    wake: () => lanes.forEach(lane => lane.wake()),
    flush: async deadlineMs => {
      const rested = new AbortController()
      void Promise.all(lanes.map(async lane => lane.rest())).then(() => rested.abort())
      await clock.sleep(deadlineMs, rested.signal)
    },
    stop: async deadlineMs => {
      await Promise.all(lanes.map(async lane => lane.stop(deadlineMs)))
    },
    status: async () => statusOf(lanes, await exports.queues()),
  }
}

function lanesOf(destination: Destination, options: ExporterOptions): RunningLane[] {
  const { exports, encode, clock, log, meters, probes = defaultProbes } = options
  const { name, bearer, proxy } = destination
  const limits = { ...defaultLimits, ...options.limits }
  const lanes: RunningLane[] = []
  const onClosed = (): void => lanes.forEach(lane => lane.wake())
  const { pauses } = limits
  const breakerOf = createCircuitBreaker({ destination: name, bearer, pauses, probes, clock, log, onClosed })
  for (const [key, endpoint] of Object.entries(destination.signals)) {
    const signal = key as Signal
    const encoder = encode[signal]
    if (encoder === undefined) {
      throw new ConfigError(`This version exports no ${signal}.`, `Take ${signal} out of the signals of "${name}".`)
    }
    const sender = createSender({ signal, endpoint, bearer, proxy, connections: limits.inFlight, clock })
    const lane = { destination: name, signal }
    const { timeoutMs } = endpoint
    const breaker = breakerOf(signal)
    lanes.push(createLane({ lane, exports, encode: encoder, sender, timeoutMs, breaker, limits, clock, log, meters }))
  }
  return lanes
}

function statusOf(lanes: readonly RunningLane[], queues: Awaited<ReturnType<Outbox['queues']>>): ExportQueueStatus[] {
  const isOf = (lane: ExportQueue) => (other: ExportQueue) =>
    other.destination === lane.destination && other.signal === lane.signal
  const served = lanes.map(one => {
    const { pending = 0, dead = 0, oldest } = queues.find(isOf(one.lane)) ?? {}
    return { ...one.lane, ...one.view(), pending, dead, oldest }
  })
  const unserved = queues
    .filter(queue => queue.pending > 0 && !served.some(isOf(queue)))
    .map(({ destination, signal, pending, dead, oldest }) => {
      const counters = { delivered: 0, repeated: 0, rejected: 0, later: 0, partiallyRejected: 0, lost: 0 }
      return { destination, signal, pending, dead, oldest, counters, state: 'unserved' as const }
    })
  return [...served, ...unserved]
}
