// Declares the time of day and timers. They are passed in wherever time matters, so that a test can control them.

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
  /** Monotonic milliseconds, for durations. A test's clock that is never set back may omit it. */
  elapsed?(): number
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Monotonic milliseconds, for durations within this process: the time of day may jump by hours or years. */
export function elapsed(clock: Clock): number {
  return clock.elapsed?.() ?? clock.now()
}

/** Converts a moment measured by `elapsed` to Unix time, to be shown to people. */
export function timeOfDay<T extends number | undefined>(at: T, clock: Clock): T {
  return (at === undefined ? undefined : Math.round(clock.now() + at - elapsed(clock))) as T
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Whole ms, because values that are computed from it may be stored in integer columns.
  elapsed: () => Math.floor(performance.now()),
  sleep: async (ms, signal) => {
    if (signal?.aborted === true) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(finish, Math.min(ms, 2_147_483_647))
      signal?.addEventListener('abort', finish, { once: true })
      function finish(): void {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
    })
  },
}
