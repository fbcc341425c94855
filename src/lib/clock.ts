// The time of day and timers. Code that depends on time receives a clock as an argument, so that a test can control the time.

export interface Clock {
  /** Returns the Unix time in ms. */
  now(): number
  /** Returns monotonic ms, for durations. The clock of a test may omit it if that clock is never set back. */
  elapsed?(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Returns monotonic ms, for durations within this process, because the time of day may jump by hours or years. */
export function elapsed(clock: Clock): number {
  return clock.elapsed?.() ?? clock.now()
}

/** Converts a time that was measured by `elapsed` to Unix time, to show it to people. */
export function timeOfDay<T extends number | undefined>(at: T, clock: Clock): T {
  return (at === undefined ? undefined : Math.round(clock.now() + at - elapsed(clock))) as T
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // The ms are whole numbers, because values computed from them may be stored in integer columns.
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
