// Who alone may do a thing for now, of all who share the store.

export interface Leases {
  /** True when `holder` has the lease until `ms` from now: it was free, had run out, or was its own already. */
  take(name: string, holder: string, ms: number): Promise<boolean>
  /** Gives it back, if it is the holder's. */
  release(name: string, holder: string): Promise<void>
}
