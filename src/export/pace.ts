// How fast one lane may send: what it learnt from the last answers. Knows nothing of queues.
//
//   STARTING ──────── accepted ────────► OPEN ◄──────── accepted ───────┐
//      │                                   │                            │
//      └────────── failure ──► BACKING OFF ◄── failure ─┐               │
//                                │                      │               │
//                                └── the pause ends: TRIAL ─────────────┘
//
// STARTING, TRIAL: one small batch at a time. OPEN: full batches, several in flight. BACKING OFF: nothing is sent until
// the pause ends: Retry-After, else growing with jitter. Answers to requests that were under way when another failed tell
// nothing new.
import { backoff, type BackoffOptions } from '../lib/backoff.ts'
import { sentenceOf, type Later } from './verdict.ts'
import { tick } from './order.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'

export interface Pace {
  readonly state: 'starting' | 'open' | 'backing off'
  /** Nothing is sent before; 0 while there is no pause. */
  readonly pausedUntil: Millis
  /** `began`: when the request did, by `tick`. */
  accepted(began: number): void
  /** Answers when the lane may go on. */
  failed(verdict: Later, began: number): Millis
}

/** Even a backend that asks for no pause (`Retry-After: 0`) gets one. */
const shortestPause = 100

export function createPace(pauses: BackoffOptions, clock: Clock, log: Log): Pace {
  let hasSucceeded = false
  let failures = 0
  let failedAt = 0
  let pausedUntil = 0

  return {
    get state() {
      if (failures > 0) return 'backing off'
      return hasSucceeded ? 'open' : 'starting'
    },
    get pausedUntil() {
      return pausedUntil
    },
    accepted: began => {
      hasSucceeded = true
      // What was under way does not end a pause: Retry-After wins over a request that got through.
      if (failures === 0 || began < failedAt || elapsed(clock) < pausedUntil) return
      log.info({ failures }, 'exports flow again')
      failures = 0
      pausedUntil = 0
    },
    failed: (verdict, began) => {
      const now = elapsed(clock)
      const isNews = failures === 0 || began > failedAt
      if (isNews) failures += 1
      failedAt = tick()
      const pause = verdict.retryAfterMs ?? (isNews ? backoff(failures, pauses) : 0)
      pausedUntil = Math.max(pausedUntil, now + Math.max(pause, shortestPause))
      if (isNews && failures === 1) {
        log.warn({ reason: sentenceOf(verdict) }, 'exports wait in the store: the backend does not take them')
      }
      return pausedUntil
    },
  }
}
