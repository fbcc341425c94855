// The outbox: what is pending for each destination, as bytes.
//
// 1. The transaction of a snapshot or an event writes one message for each signal, encoded once, and one entry of it for
//    each destination.
// 2. An export queue leases due entries. If their lease expires (its process was killed), they are due again, and counted as repeated, because the
//    backend may have them already.
// 3. Each entry is settled under its lease: delivered and rejected ones leave the queue, a rejected one as a dead letter; others are due later.
// 4. A replica that settles after its lease has expired changes nothing, because another one has the entry by then; that is counted as lost.
// 5. A message goes with its last entry.
//
// Entries never change what they send. Encoding when a batch is sent was given up: an upgrade in between would send other bytes under the same ids.
import type { AnyChunk } from '../../../model/event.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from './scope.ts'
import type { Subject } from '../../../model/route.ts'

export interface ExportQueue {
  readonly destination: string
  readonly signal: Signal
}

/** Compressed bytes, which stay unchanged until they are sent. */
export interface EncodedMessage {
  readonly signal: Signal
  readonly body: Uint8Array
  readonly destinations: readonly string[]
}

/** The messages of a chunk for its queues. A queue for which the chunk has nothing is in no message. Pure. */
export type EncodeMessages = (chunk: AnyChunk, to: readonly ExportQueue[]) => readonly EncodedMessage[]

/** For a command that writes nothing that is sent. */
export const sendsNothing: EncodeMessages = (_, to) => {
  if (to.length > 0) throw new Error('the store was opened without an encoder of what is sent')
  return []
}

export interface OutboxEntry {
  readonly id: number
  /** How often it was sent without success for a reason that may be its own. */
  readonly tries: number
  readonly pendingSince: Millis
  readonly body: Uint8Array
  readonly subject: Subject
  readonly pipelineId?: number | undefined
  /** The key of an event. */
  readonly key?: string | undefined
  /** When the delivery that made it due was received. */
  readonly observedAt?: Millis | undefined
}

export interface OutboxLease {
  readonly token: string
  readonly items: readonly OutboxEntry[]
  /** How many of `items` were leased before and not settled, because that process crashed or was too late: they may have been sent already. */
  readonly repeated: number
}

/** The outcome of one leased item. */
export type Settlement =
  | { readonly id: number; readonly as: 'delivered' }
  /** Stays pending. `error`: the backend's answer. `counted`: the try counts against this item, not the destination. */
  | {
      readonly id: number
      readonly as: 'later'
      /** How long it is not leased, ms by the store's clock; ten minutes at most. */
      readonly forMs: number
      readonly error: string
      readonly counted: boolean
    }
  /** Returned untouched: it was never sent. */
  | { readonly id: number; readonly as: 'unsent' }
  /** Dead letter. */
  | { readonly id: number; readonly as: 'rejected'; readonly status: number; readonly error: string }

export interface DeadLetter extends ExportQueue {
  readonly id: number
  readonly instance: string
  /** Undefined for an event. */
  readonly pipelineId?: number | undefined
  readonly projectId?: number | undefined
  /** The kind of event, if it is one. */
  readonly event?: string | undefined
  readonly attempt: number
  readonly chunk: number
  readonly status: number
  /** From the backend's answer. */
  readonly error: string
  readonly tries: number
  readonly pendingSince: Millis
  readonly settledAt: Millis
}

export interface ExportQueueState extends ExportQueue {
  readonly pending: number
  readonly oldest?: Millis | undefined
  readonly dead: number
  readonly lastError?: string | undefined
  /** How many pending entries failed and are in back-off. */
  readonly putOff: number
}

export interface Outbox extends DeadLetters {
  /**
   * Leases due items, and at most one beyond `maxBytes` of stored bodies. If there are more than `limit`, half are the oldest and half
   * the newest, so that a backlog does not delay what is new.
   */
  lease(queue: ExportQueue, limit: number, leaseMs: number, maxBytes?: number): Promise<OutboxLease>
  /**
   * Settles items of a lease. `lost`: how many were skipped because their lease was lost. `at`: the store's time.
   */
  settle(token: string, settlements: readonly Settlement[]): Promise<{ lost: number; at: Millis }>
  /** Ms until the next item of the queue is due; undefined when nothing is pending. */
  dueIn(queue: ExportQueue): Promise<number | undefined>
  /** Ends the back-off of all items that are not being sent at the moment; returns how many. */
  makeDue(queue: ExportQueue): Promise<number>
  /** Moves up to `limit` pending entries to another name; returns how many. */
  move(queue: ExportQueue, to: string, limit: number): Promise<number>
  queues(): Promise<readonly ExportQueueState[]>
  /** The dead letters of what a scope sees; its methods do not change any others. */
  within(scope: Scope): DeadLetters
}

/** Exports that a backend refused for good: they stay until somebody decides. */
export interface DeadLetters {
  /** The newest first. */
  deadLetters(limit: number): Promise<readonly DeadLetter[]>
  /** `body`: as it was stored. */
  deadLetter(id: number): Promise<{ letter: DeadLetter; body: Uint8Array } | undefined>
  /** Makes dead letters pending again; returns how many. */
  retryDead(ids: readonly number[] | 'all'): Promise<number>
  /** Deletes dead letters for good; returns how many. */
  dropDead(ids: readonly number[] | 'all'): Promise<number>
}

// What is queued for a destination.

export const otlpSignals = ['traces', 'metrics', 'logs'] as const
export type OtlpSignal = (typeof otlpSignals)[number]
/** What is queued for a destination: telemetry, or messages to people. */
export const signals = [...otlpSignals, 'notifications'] as const
export type Signal = (typeof signals)[number]
