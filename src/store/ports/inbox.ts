// The inbox: deliveries that are accepted and not yet processed. What `put` has accepted is durable.

/** How long an idempotency key is remembered, ms. */
export const oneDay = 24 * 3_600_000
export const keyMemory = 7 * oneDay

/** The time of a key is rounded up to the end of its day, so that no key is forgotten too early. */
export function endOfDay(time: number): number {
  return (Math.floor(time / oneDay) + 1) * oneDay
}

/** One delivery from the ingress or redelivery: verified, not parsed. */
export interface Delivery {
  /** The sender's idempotency key; undefined when it sent none. */
  readonly key?: string | undefined
  /** The event header; empty if there was none. */
  readonly event: string
  /** The instance header. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  readonly body: Uint8Array
}

export type PutOutcome = 'accepted' | 'duplicate' | 'full'

export interface InboxItem extends Delivery {
  readonly id: number
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  /** How many consecutive processes crashed while processing this delivery alone. */
  readonly deaths?: number | undefined
}

/** A larger delivery is leased alone, bytes. */
export const readAlone = 1024 * 1024

/** A lost lease can settle nothing. */
export interface InboxLease {
  readonly token: string
  readonly items: readonly InboxItem[]
}

/** A delivery that could not be decoded. */
export interface QuarantinedDelivery {
  readonly id: number
  readonly event: string
  readonly instance?: string | undefined
  readonly source: Delivery['source']
  readonly receivedAt: number
  readonly reason: string
  /** The version that could not decode it. */
  readonly version: string
  /** Size of its body, bytes. */
  readonly size: number
}

export interface InboxState {
  readonly waiting: number
  readonly waitingBytes: number
  /** When the oldest waiting delivery was received. */
  readonly oldest?: number | undefined
  readonly quarantined: number
}

export interface Inbox {
  /**
   * Writes all of them in one durable transaction. `duplicate`: a delivery with that key was accepted before (within `keyMemory`);
   * `full`: the store has reached its size limit. Throws StoreError when the store cannot write.
   */
  put(deliveries: readonly Delivery[]): Promise<readonly PutOutcome[]>
  /**
   * Leases the oldest waiting deliveries: at most `limit`, and at most one beyond `maxBytes`. A large one, or one that a process crashed
   * with, is leased alone. All are recorded as being processed until `readingEnded`.
   */
  lease(limit: number, maxBytes: number, leaseMs: number): Promise<InboxLease>
  /**
   * To be called after each lease with deliveries, whatever the outcome: the process has survived them, and their bodies are no longer used.
   * `all`: each was erased, quarantined or applied to its run.
   */
  readingEnded(lease: InboxLease, all: boolean): Promise<void>
  /**
   * Erases the deliveries that are still leased; returns how many. For deliveries that report no run: all others are
   * erased in the transaction that changes the run.
   */
  erase(token: string, ids: readonly number[]): Promise<number>
  /**
   * Sets a delivery aside for inspection. Its key is forgotten, so that it can be sent again. False: it is no longer leased.
   */
  quarantine(token: string, id: number, why: { reason: string; body: Uint8Array; version: string }): Promise<boolean>
  listQuarantined(limit: number): Promise<readonly QuarantinedDelivery[]>
  showQuarantined(id: number): Promise<{ delivery: QuarantinedDelivery; body: Uint8Array } | undefined>
  /** Puts quarantined deliveries back into the inbox: those named, or all. Returns how many. */
  retryQuarantined(ids: readonly number[] | 'all'): Promise<number>
  /** Puts back deliveries that another version could not decode, each once per version. Returns how many. */
  retryQuarantinedOfOtherVersions(version: string): Promise<number>
  state(): Promise<InboxState>
}

/** What a command may do while a daemon processes the inbox. */
export type SharedInbox = Omit<Inbox, 'lease' | 'readingEnded' | 'erase' | 'quarantine'>

/** The part of the store that the ingress needs, on its own connections. */
export interface InboxWriter extends Pick<Inbox, 'put'> {
  /** How many puts may run at the same time. */
  readonly concurrency: number
  /** As of the store. */
  isInPlace?(): boolean
  /** Throws StoreError when the store cannot write. */
  proveWritable(): Promise<void>
  close(): Promise<void>
}
