// The time of day and timers, passed in wherever time matters, so that a test can hold them.

export interface Clock {
  /** Milliseconds of Unix time. */
  now(): number
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
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
