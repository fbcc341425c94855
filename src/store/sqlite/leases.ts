// Leases of deliveries, runs and outbox entries on SQLite. Only one process serves a file, so they are in memory: stored in the rows, each
// lease would rewrite the row, with its body, and need a commit. They end with the process. Times are monotonic (`Database.elapsed`).

export interface Leases {
  /** The end of its last lease; 0 if it was never leased. */
  until(id: number): number
  /** `token`: proves later, in `isOf`, that the lease is still the caller's. */
  lease(id: number, until: number, token?: string): void
  /** True while no other lease was granted since, even after its end. */
  isOf(id: number, token: string): boolean
  /** To be called when the item was processed or settled. */
  forget(id: number): void
  /** Forgets all expired leases. Only for leases without tokens. */
  expire(now: number): void
  /** The earliest end of a lease; undefined without any. */
  nextFree(): number | undefined
  /** Those that are not forgotten, including those that have ended. */
  ids(): number[]
  readonly size: number
}

export function createLeases(): Leases {
  const leases = new Map<number, { readonly token: string; readonly until: number }>()
  return {
    until: id => leases.get(id)?.until ?? 0,
    lease: (id, until, token = '') => {
      leases.set(id, { token, until })
    },
    isOf: (id, token) => leases.get(id)?.token === token,
    forget: id => {
      leases.delete(id)
    },
    expire: now => {
      for (const [id, { until }] of leases) if (until <= now) leases.delete(id)
    },
    nextFree: () => {
      const [first, ...others] = leases.values()
      return first && others.reduce((earliest, { until }) => Math.min(earliest, until), first.until)
    },
    ids: () => [...leases.keys()],
    get size() {
      return leases.size
    },
  }
}
