// Timers whose work may fail: what it throws is handed to whoever set them, and never ends the process. The one place, beside the
// clock, where timers are set: a file that cannot be opened for a moment must not be the end of a daemon.

export interface Timer {
  stop(): void
}

/** Runs `work` every `ms`, not again before its promise is settled. It keeps no process alive. */
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

/** Runs `work` once after `ms`. */
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
