// A background loop: it runs one turn after another, can be woken early when there is work, and never stops in the middle of a turn.
import { backoff } from './backoff.ts'
import { reasonOf, StoreError } from './fault.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

export interface Loop {
  start(): void
  /** Starts the next turn without a pause. The call is cheap, so callers may make it for every event. */
  wake(): void
  /** Stops the loop. Resolves when the current turn has ended. */
  stop(): Promise<void>
}

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  /** Does the work that is due. Returns the maximum pause before the next turn in ms (0 means none). */
  readonly turn: () => Promise<number>
}

/**
 * Resolves after two turns of the event loop. Requests that a background loop has just started are then sent before its next turn begins: on an idle
 * connection, for example, undici writes a request only in the next turn of the event loop.
 */
export async function requestsGoFirst(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await new Promise(resolve => setImmediate(resolve))
}

/** The abort reason of a pause that is ended early. Without an explicit reason, each wake-up would create an error with a stack trace. */
const woken = 'woken'

const maxPause = 60_000
/**
 * The maximum pause in ms while the store is unavailable. It is shorter than for other errors, because an attempt is cheap and much work waits for
 * the store.
 */
const maxStorePause = 2_000

/** Creates a loop. A turn that throws is retried with exponential backoff of at most a minute. Each series of failures is logged once. */
export function createLoop({ name, clock, log, turn }: LoopOptions): Loop {
  let stopping = false
  let wakes = 0
  let pause: AbortController | undefined
  let running: Promise<void> | undefined
  const isStopping = (): boolean => stopping

  async function run(): Promise<void> {
    let failures = 0
    while (!isStopping()) {
      const before = wakes
      let rest: number
      try {
        rest = await turn()
        if (failures > 0) log.info({ loop: name, failures }, `${name} works again`)
        failures = 0
      } catch (error) {
        failures += 1
        rest = backoff(failures, { first: 250, max: error instanceof StoreError ? maxStorePause : maxPause })
        const level = failures === 1 ? 'error' : 'debug'
        log[level]({ loop: name, failures, reason: reasonOf(error) }, `${name} failed and will try again`)
      }
      if (isStopping()) return
      if (wakes !== before && failures === 0) rest = 0
      if (rest <= 0) {
        // Timers, sockets and signals are handled here, between two turns of the background loop.
        await requestsGoFirst()
        continue
      }
      pause = new AbortController()
      await clock.sleep(rest, pause.signal)
      pause = undefined
    }
  }

  return {
    start: () => {
      running ??= run()
    },
    wake: () => {
      wakes += 1
      pause?.abort(woken)
    },
    stop: async () => {
      stopping = true
      pause?.abort(woken)
      await running
    },
  }
}
