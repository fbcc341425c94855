// The inbox: deliveries accepted and not yet processed. The durable line runs through `put`.

/** How long an idempotency key is remembered, ms. */
export const keyMemory = 7 * 24 * 3_600_000

/** So begin the reasons of versions that took a failure of the store for the delivery's own: what they quarantined is tried once more. */
export const blamedInHaste = 'It cannot be decoded:  '

/** One delivery as the ingress or redelivery hands it over: verified, not parsed. */
export interface Delivery {
  /** The sender's idempotency key; undefined when it sent none. */
  readonly key?: string | undefined
  /** The event header's text; empty when there was none. */
  readonly event: string
  /** The instance header's text. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  readonly body: Uint8Array
}

export type PutOutcome = 'accepted' | 'duplicate' | 'full'

export interface InboxItem extends Delivery {
  readonly id: number
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  /** How many processes in a row died while they read it alone; undefined: none. */
  readonly deaths?: number | undefined
}

/** A larger delivery is leased alone, bytes. */
export const readAlone = 1024 * 1024

/** Items leased for a while; a lease that was lost can settle nothing. */
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
  /** When the oldest waiting delivery came, undefined when none waits. */
  readonly oldest?: number | undefined
  readonly quarantined: number
}

export interface Inbox {
  /**
   * Writes all of them in one durable transaction. `duplicate`: a delivery of that key is known (7 days); `full`: the store
   * has reached its size limit. Throws StoreError when the store cannot write.
   */
  put(deliveries: readonly Delivery[]): Promise<readonly PutOutcome[]>
  /**
   * Leases the oldest waiting deliveries: at most `limit`, and no more than one beyond `maxBytes`; alone one that is large, or
   * during whose reading a process died. They are recorded as being read until `readingEnded`.
   */
  lease(limit: number, maxBytes: number, leaseMs: number): Promise<InboxLease>
  /**
   * To be called after each lease, however its reading went: the process lives. `all`: each of them was erased, quarantined, or taken
   * into the runs.
   */
  readingEnded(lease: InboxLease, all: boolean): Promise<void>
  /**
   * Erases deliveries that are processed and report nothing of a run: those that are still leased. Returns how many.
   * Those that do report something are erased with the run's change.
   */
  erase(token: string, ids: readonly number[]): Promise<number>
  /**
   * Moves a delivery out of the way, for inspection, with its reason. Its key does not block a resend. False: it is no longer
   * leased.
   */
  quarantine(token: string, id: number, why: { reason: string; body: Uint8Array; version: string }): Promise<boolean>
  listQuarantined(limit: number): Promise<readonly QuarantinedDelivery[]>
  showQuarantined(id: number): Promise<{ delivery: QuarantinedDelivery; body: Uint8Array } | undefined>
  /** Puts quarantined deliveries back into the inbox: those named, or all. Returns how many. */
  retryQuarantined(ids: readonly number[] | 'all'): Promise<number>
  /** Puts back what another version could not decode, each once per version, and what was `blamedInHaste`. Returns how many. */
  retryQuarantinedOfOtherVersions(version: string): Promise<number>
  state(): Promise<InboxState>
}

/** What may be done with the inbox beside the daemon that works it off. */
export type SharedInbox = Omit<Inbox, 'lease' | 'readingEnded' | 'erase' | 'quarantine'>

/** All of the store that the ingress needs, on connections of its own. */
export interface InboxWriter extends Pick<Inbox, 'put'> {
  /** So many puts may be under way at a time. */
  readonly abreast: number
  /** Throws StoreError when the store does not take writes. */
  proveWritable(): Promise<void>
  close(): Promise<void>
}
