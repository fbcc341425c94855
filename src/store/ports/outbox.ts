// What is pending for destinations: one entry per chunk, signal and destination; leased, sent, settled by verdict.
import type { AnyChunk } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'
import type { Signal } from './runs.ts'

/** One queue: a destination and a signal. */
export interface ExportQueue {
  readonly destination: string
  readonly signal: Signal
}

export interface OutboxEntry {
  readonly id: number
  readonly chunk: AnyChunk
  /** How often it was sent and had to be sent again. */
  readonly tries: number
  readonly pendingSince: Millis
}

/** Pending, and what is stored of its chunk is damaged: it is never sent. */
export type DamagedItem = Pick<OutboxEntry, 'id'>

export interface OutboxLease {
  readonly token: string
  readonly items: readonly OutboxEntry[]
  /** Leased as the items are, to be settled as rejected. */
  readonly damaged: readonly DamagedItem[]
}

/** What becomes of one leased item. */
export type Settlement =
  | { readonly id: number; readonly as: 'delivered' }
  /** Stays pending. `error`: what the backend said. `counted`: this try counts against the item itself. */
  | {
      readonly id: number
      readonly as: 'later'
      /** For so long it is not leased, ms by the store's clock; ten minutes at most. */
      readonly forMs: number
      readonly error: string
      readonly counted: boolean
    }
  /** Handed back untouched: it was never sent. */
  | { readonly id: number; readonly as: 'unsent' }
  /** Dead letter. */
  | { readonly id: number; readonly as: 'rejected'; readonly status: number; readonly error: string }

export interface DeadLetter extends ExportQueue {
  readonly id: number
  readonly instance: string
  /** Undefined for an event that is about none. */
  readonly pipelineId?: number | undefined
  /** The kind of event, where it is one. */
  readonly event?: string | undefined
  readonly attempt: number
  readonly chunk: number
  readonly status: number
  /** In the backend's own words. */
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
  /** Of the pending ones those that were sent, and had to be put off. */
  readonly putOff: number
}

export interface Outbox {
  /**
   * Leases due items: when there are more than `limit`, half of them the oldest and half the newest, so that both flow; and
   * no more than one beyond `maxBytes` of chunks as they are stored, whatever their number.
   */
  lease(queue: ExportQueue, limit: number, leaseMs: number, maxBytes?: number): Promise<OutboxLease>
  /**
   * Settles items of a lease. Items whose lease was lost are left alone: their number is returned. `at`: when that was, by the
   * store's clock.
   */
  settle(token: string, settlements: readonly Settlement[]): Promise<{ lost: number; at: Millis }>
  /** How long it is until the next item of the queue is due, ms by the store's clock; undefined when nothing is pending. */
  dueIn(queue: ExportQueue): Promise<number | undefined>
  /** Makes due at once what is put off, but what is on its way just now. Returns how many. */
  makeDue(queue: ExportQueue): Promise<number>
  queues(): Promise<readonly ExportQueueState[]>
  deadLetters(limit: number): Promise<readonly DeadLetter[]>
  /** Its chunk is undefined where what is stored of it is damaged. */
  deadLetter(id: number): Promise<{ letter: DeadLetter; chunk: AnyChunk | undefined } | undefined>
  /** Makes dead letters pending again: those named, or all. Returns how many. */
  retryDead(ids: readonly number[] | 'all'): Promise<number>
  /** Gives dead letters up for good. Returns how many. */
  dropDead(ids: readonly number[] | 'all'): Promise<number>
}
