// A background loop: one turn after another, woken early when there is something to do, stopped without cutting a turn short.
import { backoff } from './backoff.ts'
import { reasonOf, StoreError } from './fault.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

export interface Loop {
  start(): void
  /** Starts the next turn without a pause. Cheap: may be called for every event. */
  wake(): void
  /** Resolves when the turn under way has ended. */
  stop(): Promise<void>
}

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  /** Does the work that is due; returns how many ms may pass until the next turn (0: at once). */
  readonly turn: () => Promise<number>
}

/**
 * Resolves after two turns of the event loop, so that the work that a loop's turn has started proceeds before the loop's next turn. On an idle
 * connection, for example, undici writes a request only in the next turn of the event loop.
 */
export async function requestsGoFirst(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await new Promise(resolve => setImmediate(resolve))
}

/** The reason of the abort. Without a reason, each wake would create an error with its stack. */
const woken = 'woken'

const maxPause = 60_000
/** The maximum pause while the store is unavailable, ms. It is shorter, because a try is cheap and much work waits for the store. */
const maxStorePause = 2_000

/** A turn that throws is logged once per series of failures. It is tried again after a growing pause of at most a minute. */
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
        // Timers, sockets and signals get their turn in between.
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
