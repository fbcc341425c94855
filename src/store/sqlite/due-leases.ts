// Which due runs somebody looks at just now. One process alone serves an SQLite file, so this is known in memory; a process that
// dies gives them back by dying.

export interface DueLeases {
  isFree(run: number, now: number): boolean
  hold(run: number, until: number): void
  /** The run was looked at. */
  forget(run: number): void
  /** Drops what is over: also of runs that are gone. */
  expire(now: number): void
  /** When the first of them is free again by itself; undefined when none is held. */
  nextFree(): number | undefined
  readonly size: number
}

export function createDueLeases(): DueLeases {
  const until = new Map<number, number>()
  return {
    isFree: (run, now) => (until.get(run) ?? 0) <= now,
    hold: (run, time) => {
      until.set(run, time)
    },
    forget: run => {
      until.delete(run)
    },
    expire: now => {
      for (const [run, time] of until) if (time <= now) until.delete(run)
    },
    nextFree: () => (until.size === 0 ? undefined : Math.min(...until.values())),
    get size() {
      return until.size
    },
  }
}
