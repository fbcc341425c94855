// Timers whose work may fail: errors are passed to `onError` and never end the process. A daemon must survive even if a file temporarily cannot be
// opened, so timers are set only here and in `clock.ts`.

export interface Timer {
  stop(): void
}

/** Runs `work` every `ms`, but not while the previous round is still running. The timer does not keep the process alive. */
export function every(ms: number, work: () => unknown, onError: (error: unknown) => void): Timer {
  let busy = false
  async function round(): Promise<void> {
    if (busy) return
    busy = true
    try {
      await work()
    } catch (error) {
      onError(error)
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void round(), ms)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

export function after(ms: number, work: () => unknown, onError: (error: unknown) => void): Timer {
  async function run(): Promise<void> {
    try {
      await work()
    } catch (error) {
      onError(error)
    }
  }
  const timer = setTimeout(() => void run(), ms)
  return { stop: () => clearTimeout(timer) }
}

export interface PausableTimeout {
  /** A signal that is aborted when the timeout has elapsed. */
  readonly signal: AbortSignal
  /** Pauses the timeout: from now on, elapsed time does not count. */
  pause(): void
  resume(): void
}

/** Creates a timeout that can be paused. `ms` is its duration, excluding the pauses. It does not keep the process alive. */
export function pausableTimeout(ms: number): PausableTimeout {
  const over = new AbortController()
  let left = ms
  let since = 0
  let timer: NodeJS.Timeout | undefined
  const pause = (): void => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    left -= performance.now() - since
  }
  const resume = (): void => {
    pause()
    since = performance.now()
    timer = setTimeout(() => over.abort(), Math.max(0, left)).unref()
  }
  resume()
  return { signal: over.signal, pause, resume }
}

/** Returns the result of `work`. If `work` takes longer than `ms`, the result of `onLate` is returned instead. `onLate` may also throw. */
export async function within<T>(ms: number, work: Promise<T>, onLate: () => T): Promise<T> {
  const late = Promise.withResolvers<T>()
  const timer = after(ms, () => late.resolve(onLate()), late.reject)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    timer.stop()
  }
}
