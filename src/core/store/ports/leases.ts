// Leases: among all processes that share the store, only the holder does a certain job.

export interface Leases {
  /** True if `holder` has the lease for the next `ms`: it was free, had expired, or was the holder's already. */
  take(name: string, holder: string, ms: number): Promise<boolean>
  /** Does nothing if another holder has it. */
  release(name: string, holder: string): Promise<void>
}
