// Deliveries that could not be decoded: they were answered, counted, and are kept, redacted, until somebody has looked at them.

/** One that is to be kept. `body`: what may be stored of it. */
export interface Undecodable {
  /** The event header; empty if there was none. */
  readonly event: string
  /** The instance header. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  readonly body: Uint8Array
  /** A sentence that ends in a remedy. */
  readonly reason: string
  /** The version that could not decode it. */
  readonly version: string
}

export interface QuarantinedDelivery extends Omit<Undecodable, 'body'> {
  readonly id: number
  /** Size of its body, bytes. */
  readonly size: number
}

export interface Quarantine {
  /** The newest first. */
  list(limit: number): Promise<readonly QuarantinedDelivery[]>
  show(id: number): Promise<{ delivery: QuarantinedDelivery; body: Uint8Array } | undefined>
  count(): Promise<number>
  /** The daemon is to decode them again: those named, or all. Returns how many. */
  retry(ids: readonly number[] | 'all'): Promise<number>
  /** The same for those that another version could not decode. Returns how many. */
  retryOfOtherVersions(version: string): Promise<number>
  /** Those that are to be decoded again, the oldest first. */
  toRetry(limit: number): Promise<readonly (Undecodable & { readonly id: number })[]>
}
