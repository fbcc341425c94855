// Runs work that only one replica may do at a time. The replica with the lease runs a loop of rounds, in each of which it sends requests to the
// platform. When the daemon stops, the current round is cut short.
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { isRefusal, maxRefusals, mayConcernAll } from './limits.ts'
import { PlatformError, type ErrorThrottle } from '../../platform/port.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Leases } from '../store/ports/store.ts'
import type { Log } from '../../lib/log.ts'

export interface Singleton {
  /** True while this replica has the lease. Takes or renews the lease if needed. The call is cheap enough to be made before every step. */
  isMine(): Promise<boolean>
  release(): Promise<void>
}

/** The duration of the lease, ms. It is long enough for a slow step, and short enough that another replica soon takes over after a crash. */
const leaseMs = 90_000
const renewMs = 20_000

export function createSingleton(name: string, leases: Leases, clock: Clock): Singleton {
  const holder = randomUUID()
  let takenAt = -Infinity
  return {
    isMine: async () => {
      if (elapsed(clock) - takenAt < renewMs) return true
      const taken = await leases.take(name, holder, leaseMs)
      takenAt = taken ? elapsed(clock) : -Infinity
      return taken
    },
    release: async () => {
      takenAt = -Infinity
      await leases.release(name, holder)
    },
  }
}

/**
 * The interval in ms at which the lease is renewed between two rounds. Renewal lets the same replica run the next round too; otherwise each replica
 * would run its own rounds.
 */
const renewEvery = 30_000

export interface RoundsOptions {
  /** The name of the loop in the log, and of its lease. */
  readonly name: string
  readonly leases: Leases
  readonly errors: ErrorThrottle
  readonly clock: Clock
  readonly log: Log
}

/**
 * The outcome of the requests about one subject. `failed`: other requests may succeed. `refused`: the platform may reject all requests, or only those
 * about this subject. `stop`: the round should end, because the daemon stops or because all requests would fail.
 */
export type Tried = 'answered' | 'failed' | 'refused' | 'stop'

export interface Rounds {
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal
  /** True while this replica has the lease. */
  isMine(): Promise<boolean>
  /**
   * Sends the requests about one subject, and logs an error if they fail. `ask` resolves with false if the platform has not answered it, because it
   * had nothing to request.
   */
  try(subject: string, ask: () => Promise<unknown>, onError?: (error: PlatformError) => Promise<void>): Promise<Tried>
  /**
   * Processes the subjects one after the other until the round should end. The next round begins with the subject after the last one that was tried,
   * so that a subject that always fails does not delay the others.
   */
  each<T>(all: readonly T[], about: (one: T) => Promise<Tried>): Promise<void>
  /**
   * Creates the loop. `every` is the time in ms from the start of one round to the start of the next. `retry` is the time in ms after which a replica
   * without the lease tries to take it again. `onOthers` is called while another replica has the lease. `hurry` starts a round at once if this
   * replica has the lease.
   */
  loop(
    pauses: { readonly every: number; readonly retry: number; readonly onOthers?: () => void },
    round: () => Promise<void>,
  ): Loop & { hurry(): void }
}

/** The minimum pause in ms between two rounds, however long the rounds take. */
const minPause = 1_000

export function createRounds({ name, leases, errors, clock, log }: RoundsOptions): Rounds {
  const lease = createSingleton(name, leases, clock)
  const closing = new AbortController()
  /** The index of the subject with which the next round starts. */
  let first = 0
  return {
    signal: closing.signal,
    isMine: async () => lease.isMine(),
    try: async (subject, ask, onError) => {
      try {
        if ((await ask()) !== false) errors.answered(subject)
        return 'answered'
      } catch (error) {
        if (closing.signal.aborted) return 'stop'
        if (!(error instanceof PlatformError)) throw error
        await onError?.(error)
        if (errors.failed(subject, error) === 'go-on') return 'failed'
        return isRefusal(error) || mayConcernAll(error) ? 'refused' : 'stop'
      }
    },
    each: async (all, about) => {
      const inTurn = [...all.slice(first), ...all.slice(0, first)]
      let refused = 0
      for (const [at, one] of inTurn.entries()) {
        const tried = await about(one)
        refused = tried === 'refused' ? refused + 1 : 0
        if (tried !== 'stop' && refused < maxRefusals) continue
        first = (first + at + 1) % all.length
        return
      }
      first = 0
    },
    loop: ({ every, retry, onOthers }, round) => {
      let nextAt = -Infinity
      let isHurried = false
      const turn = async (): Promise<number> => {
        if (!(await lease.isMine())) {
          onOthers?.()
          return retry
        }
        const begun = elapsed(clock)
        if (isHurried || begun >= nextAt) {
          isHurried = false
          await round()
          nextAt = Math.max(begun + every, elapsed(clock) + minPause)
        }
        return Math.min(renewEvery, nextAt - elapsed(clock))
      }
      const loop = createLoop({ name, clock, log, turn })
      return {
        ...loop,
        hurry: () => {
          isHurried = true
          loop.wake()
        },
        stop: async () => {
          closing.abort(new Error('the daemon stops'))
          await loop.stop()
          await lease.release()
        },
      }
    },
  }
}
