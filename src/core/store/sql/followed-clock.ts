// Checks a store's clock whenever it is read, so that a clock that was ahead only for a moment is noticed, too: rows that were written then
// would be due at that time.

export interface FollowedClock {
  /** `now`: a time that the store has read and may write; returns it. */
  follow(now: number): number
  /** How far the clock was ahead of `now` since the last call, ms. */
  wasAhead(now: number): number
}

export function followedClock(): FollowedClock {
  /** The greatest difference between the clock and the monotonic time of this process. */
  let greatest = -Infinity
  const difference = (now: number): number => now - performance.now()
  return {
    follow: now => {
      greatest = Math.max(greatest, difference(now))
      return now
    },
    wasAhead: now => {
      const ahead = greatest - difference(now)
      greatest = difference(now)
      return Math.max(0, ahead)
    },
  }
}
