// The time of day and timers. Code that depends on time takes a clock as an argument, so that tests can control the time.

export interface Clock {
  /** Returns the Unix time in ms. */
  now(): number
  /** Returns monotonic time in ms, for durations. A test clock may omit this function if its time is never set back. */
  elapsed?(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Returns monotonic time in ms, for durations within this process, because the time of day may jump by hours or years. */
export function elapsed(clock: Clock): number {
  return clock.elapsed?.() ?? clock.now()
}

/** Converts a time measured by `elapsed` to Unix time, to show it to people. */
export function timeOfDay<T extends number | undefined>(at: T, clock: Clock): T {
  return (at === undefined ? undefined : Math.round(clock.now() + at - elapsed(clock))) as T
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // The time is rounded down to whole ms, because values computed from it may be stored in integer columns.
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
