// The outbox: the encoded messages that are pending for each destination.
//
// 1. The transaction of a snapshot or an event writes one message for each signal, encoded once, and one entry for each destination of the message.
// 2. An export queue leases due entries. If a lease expires because the process was killed, its entries are due again, and counted as repeated,
//    because the backend may have them already.
// 3. Each entry is settled under its lease: delivered and rejected entries leave the queue, rejected ones as dead letters; others are due later.
// 4. A replica that settles after its lease has expired changes nothing, because another one has the entry by then; this is counted as lost.
// 5. A message is deleted with its last entry.
//
// The content of an entry never changes. Encoding at the time of sending was rejected, because after an upgrade other bytes would be sent under the
// same ids.
import type { AnyChunk } from '../../../model/event.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from './scope.ts'
import type { Subject } from '../../../model/route.ts'

export interface ExportQueue {
  readonly destination: string
  readonly signal: Signal
}

/** A message in compressed form. Its content is sent unchanged. */
export interface EncodedMessage {
  readonly signal: Signal
  readonly body: Uint8Array
  readonly destinations: readonly string[]
}

/** Returns the messages of a chunk for its queues. If the chunk has no data for a queue, there is no message for that queue. Pure. */
export type EncodeMessages = (chunk: AnyChunk, to: readonly ExportQueue[]) => readonly EncodedMessage[]

/** The encoder for commands that export nothing. It throws if a chunk has a destination. */
export const sendsNothing: EncodeMessages = (_, to) => {
  if (to.length > 0) throw new Error('the store was opened without an encoder for exports')
  return []
}

export interface OutboxEntry {
  readonly id: number
  /** The number of failed attempts to send the entry that the entry itself may have caused. */
  readonly tries: number
  readonly pendingSince: Millis
  readonly body: Uint8Array
  readonly subject: Subject
  readonly pipelineId?: number | undefined
  /** The key of the event, if the entry is for an event. */
  readonly key?: string | undefined
  /** When the delivery that caused the entry was received. */
  readonly observedAt?: Millis | undefined
}

export interface OutboxLease {
  readonly token: string
  readonly items: readonly OutboxEntry[]
  /** The number of `items` that were leased before but not settled, because the process crashed or was too late. They may already have been sent. */
  readonly repeated: number
}

/** The outcome of one leased item. */
export type Settlement =
  | { readonly id: number; readonly as: 'delivered' }
  /**
   * The item stays pending. `error` is the backend's response. `counted`: the failed attempt counts against this item, not against the destination.
   */
  | {
      readonly id: number
      readonly as: 'later'
      /** How long the item must not be leased, in ms on the store's clock. The maximum is ten minutes. */
      readonly forMs: number
      readonly error: string
      readonly counted: boolean
    }
  /** The item is returned to the queue unchanged, because it was never sent. */
  | { readonly id: number; readonly as: 'unsent' }
  /** The item becomes a dead letter. */
  | { readonly id: number; readonly as: 'rejected'; readonly status: number; readonly error: string }

export interface DeadLetter extends ExportQueue {
  readonly id: number
  readonly instance: string
  /** The id of the pipeline; undefined for an event. */
  readonly pipelineId?: number | undefined
  readonly projectId?: number | undefined
  /** The kind of event; undefined if the entry is not for an event. */
  readonly event?: string | undefined
  readonly attempt: number
  readonly chunk: number
  readonly status: number
  /** The error message in the backend's response. */
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
  /** The number of pending entries that failed and are in backoff. */
  readonly putOff: number
}

export interface Outbox extends DeadLetters {
  /**
   * Leases due items. The total size of their stored bodies exceeds `maxBytes` by at most one item. If more than `limit` items are due, half are the
   * oldest and half the newest, so that a backlog does not delay new items.
   */
  lease(queue: ExportQueue, limit: number, leaseMs: number, maxBytes?: number): Promise<OutboxLease>
  /**
   * Settles the items of a lease. `lost` is the number of items that were skipped because their lease was lost. `at` is the time on the store's
   * clock.
   */
  settle(token: string, settlements: readonly Settlement[]): Promise<{ lost: number; at: Millis }>
  /** Returns the time in ms until the next item of the queue is due; undefined if nothing is pending. */
  dueIn(queue: ExportQueue): Promise<number | undefined>
  /** Ends the backoff of all items that are not being sent at the moment. Returns the number of these items. */
  makeDue(queue: ExportQueue): Promise<number>
  /** Moves up to `limit` pending entries to another destination name. Returns the number of moved entries. */
  move(queue: ExportQueue, to: string, limit: number): Promise<number>
  queues(): Promise<readonly ExportQueueState[]>
  /** Returns an object whose methods read and change only the dead letters in this scope. */
  within(scope: Scope): DeadLetters
}

/** The exports that a backend rejected permanently. They are kept until an operator decides. */
export interface DeadLetters {
  /** Returns the dead letters, newest first. */
  deadLetters(limit: number): Promise<readonly DeadLetter[]>
  /** Returns one dead letter. `body` is returned as stored. */
  deadLetter(id: number): Promise<{ letter: DeadLetter; body: Uint8Array } | undefined>
  /** Makes dead letters pending again. Returns how many. */
  retryDead(ids: readonly number[] | 'all'): Promise<number>
  /** Deletes dead letters permanently. Returns how many. */
  dropDead(ids: readonly number[] | 'all'): Promise<number>
}

// The telemetry signals that are queued for a destination.

export const otlpSignals = ['traces', 'metrics', 'logs'] as const
export type OtlpSignal = (typeof otlpSignals)[number]
/** All signals that are queued for a destination: telemetry, and notifications for people. */
export const signals = [...otlpSignals, 'notifications'] as const
export type Signal = (typeof signals)[number]
