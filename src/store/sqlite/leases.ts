// Who has leased which row at the moment: deliveries that are read, exports that are on their way, runs that are looked at. One process
// alone serves an SQLite file, so this is known in memory: written into the rows it would write every body a second time, and be a
// commit on the way of each pipeline. A process that dies gives back what it had by dying. Times are the process's own (`Database.elapsed`).

export interface Leases {
  /** Until when it is leased, or was; 0 when nobody has had it. */
  until(id: number): number
  /** `token`: for who must prove later that the lease is still theirs. */
  lease(id: number, until: number, token?: string): void
  /** True while nobody else has leased it since, even when its time is over. */
  isOf(id: number, token: string): boolean
  /** Nobody needs it any more: it was processed, or what became of it is settled. */
  forget(id: number): void
  /** Forgets all whose time is over, also of rows that are gone: where no token is asked for. */
  expire(now: number): void
  /** When the first of them is free again by itself; undefined when none is leased. */
  nextFree(): number | undefined
  /** How many are leased or were, and not forgotten. */
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
    get size() {
      return leases.size
    },
  }
}
