// How far the platform's clock is ahead of ours, from the `Date` header of its answers.
import type { Millis } from '../../model/instant.ts'

export interface ClockOffset {
  /** ms, negative if the platform's clock is behind ours; undefined until the platform has answered with its time. */
  readonly current: () => number | undefined
  /** `servedAt`: the answer's `Date`, on the platform's clock. `sentAt` and `receivedAt`: of the request and its answer, on ours. */
  readonly observe: (servedAt: Millis | undefined, sentAt: Millis, receivedAt: Millis) => void
}

/**
 * `Date` has whole seconds, and the platform wrote it between `sentAt` and `receivedAt`. So each answer proves an interval of offsets. The
 * offset moves only if it is outside the interval, and then by as little as possible: clocks that agree have the offset 0, and elapsed times
 * do not jitter with the latency of answers.
 */
export function createClockOffset(): ClockOffset {
  let offset: number | undefined
  return {
    current: () => offset,
    observe: (servedAt, sentAt, receivedAt) => {
      if (servedAt === undefined) return
      const [min, max] = [servedAt - receivedAt, servedAt + 999 - sentAt]
      offset = Math.min(Math.max(offset ?? 0, min), Math.max(min, max))
    },
  }
}
