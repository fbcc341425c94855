// The outbox: the encoded messages that are pending for each destination.
//
// 1. The transaction of a snapshot or an event writes one message for each signal, encoded once, and one entry of it for
//    each destination.
// 2. An export queue leases due entries. If their lease expires (its process was killed), they are due again, and counted as repeated, because the
//    backend may have them already.
// 3. Each entry is settled under its lease: delivered and rejected ones leave the queue, a rejected one as a dead letter; others are due later.
// 4. A replica that settles after its lease has expired changes nothing, because another one has the entry by then; that is counted as lost.
// 5. A message is deleted with its last entry.
//
// The content of an entry never changes. Encoding at the time of sending was rejected: after an upgrade, other bytes would be sent under the same
// ids.
import type { AnyChunk } from '../../../model/event.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from './scope.ts'
import type { Subject } from '../../../model/route.ts'

export interface ExportQueue {
  readonly destination: string
  readonly signal: Signal
}

/** A message in compressed bytes, which do not change until they are sent. */
export interface EncodedMessage {
  readonly signal: Signal
  readonly body: Uint8Array
  readonly destinations: readonly string[]
}

/** Returns the messages of a chunk for its queues. If the chunk has no data for a queue, no message is for that queue. Pure. */
export type EncodeMessages = (chunk: AnyChunk, to: readonly ExportQueue[]) => readonly EncodedMessage[]

/** Encodes no messages. Used by a command that writes nothing to send. */
export const sendsNothing: EncodeMessages = (_, to) => {
  if (to.length > 0) throw new Error('the store was opened without an encoder of what is sent')
  return []
}

export interface OutboxEntry {
  readonly id: number
  /** How often the entry was sent without success for a reason that may be its own fault. */
  readonly tries: number
  readonly pendingSince: Millis
  readonly body: Uint8Array
  readonly subject: Subject
  readonly pipelineId?: number | undefined
  /** The key of the event, if the entry is for an event. */
  readonly key?: string | undefined
  /** When the delivery that made the entry due was received. */
  readonly observedAt?: Millis | undefined
}

export interface OutboxLease {
  readonly token: string
  readonly items: readonly OutboxEntry[]
  /** The number of `items` that were leased before and not settled, because the process crashed or was too late. They may have been sent already. */
  readonly repeated: number
}

/** The outcome of one leased item. */
export type Settlement =
  | { readonly id: number; readonly as: 'delivered' }
  /** The item stays pending. `error` is the backend's answer. `counted`: the failed try counts against this item, not against the destination. */
  | {
      readonly id: number
      readonly as: 'later'
      /** How long the item is not leased, in ms by the store's clock. The maximum is ten minutes. */
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
  /** The error message in the backend's answer. */
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
  /** The number of pending entries that failed and are in back-off. */
  readonly putOff: number
}

export interface Outbox extends DeadLetters {
  /**
   * Leases due items. Their stored bodies have at most `maxBytes`, plus one item. If more than `limit` items are due, half are the oldest and half
   * the newest, so that a backlog does not delay new items.
   */
  lease(queue: ExportQueue, limit: number, leaseMs: number, maxBytes?: number): Promise<OutboxLease>
  /**
   * Settles items of a lease. `lost` is the number of items that were skipped because their lease was lost. `at` is the time on the store's clock.
   */
  settle(token: string, settlements: readonly Settlement[]): Promise<{ lost: number; at: Millis }>
  /** Returns the time in ms until the next item of the queue is due; undefined if nothing is pending. */
  dueIn(queue: ExportQueue): Promise<number | undefined>
  /** Ends the back-off of all items that are not being sent at the moment. Returns the number of these items. */
  makeDue(queue: ExportQueue): Promise<number>
  /** Moves up to `limit` pending entries to another destination name. Returns the number of moved entries. */
  move(queue: ExportQueue, to: string, limit: number): Promise<number>
  queues(): Promise<readonly ExportQueueState[]>
  /** Returns the dead letters in a scope. Its methods do not change any other dead letters. */
  within(scope: Scope): DeadLetters
}

/** The exports that a backend refused permanently. They stay until an operator decides. */
export interface DeadLetters {
  /** Returns the dead letters, newest first. */
  deadLetters(limit: number): Promise<readonly DeadLetter[]>
  /** Returns one dead letter. `body` is returned as it was stored. */
  deadLetter(id: number): Promise<{ letter: DeadLetter; body: Uint8Array } | undefined>
  /** Makes dead letters pending again. Returns the number of dead letters. */
  retryDead(ids: readonly number[] | 'all'): Promise<number>
  /** Deletes dead letters permanently. Returns the number of dead letters. */
  dropDead(ids: readonly number[] | 'all'): Promise<number>
}

// The signals of telemetry that are queued for a destination.

export const otlpSignals = ['traces', 'metrics', 'logs'] as const
export type OtlpSignal = (typeof otlpSignals)[number]
/** All signals that are queued for a destination: telemetry, and notifications for people. */
export const signals = [...otlpSignals, 'notifications'] as const
export type Signal = (typeof signals)[number]
