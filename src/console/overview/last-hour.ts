// The counts of this process in the last hour. Counters only grow, so they are sampled every minute, and the sample of an hour ago is
// subtracted.
import { z } from 'zod'
import { every, type Timer } from '../../lib/timer.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import type { ExportQueueStatus } from '../exports/columns.ts'
import type { Flow } from './flow.ts'
import type { Millis } from '../../model/instant.ts'

/** `since`: an hour ago, or the start of the process if that is later. */
export const lastHourShape = z.object({
  since: millis,
  received: z.number(),
  accepted: z.number(),
  duplicate: z.number(),
  ignored: z.number(),
  refused: z.number(),
  settled: z.number(),
  delivered: z.number(),
})
export type LastHour = Shaped<typeof lastHourShape>
type HourCounts = Omit<LastHour, 'since'>

export interface HourWatch {
  /** The counts of the last hour, to the minute. */
  read(): Promise<LastHour>
  /** Takes a sample. */
  sample(): Promise<void>
  /** Takes a sample every minute from now on. */
  start(onError: (error: unknown) => void): void
  stop(): void
}

const minute = 60_000
const hour = 60 * minute

interface HourSources {
  readonly flow: () => Flow
  readonly queues: () => Promise<readonly ExportQueueStatus[]>
  readonly now: () => Millis
}

export function createHourWatch({ flow, queues, now }: HourSources): HourWatch {
  const samples: { readonly at: Millis; readonly counts: HourCounts }[] = []
  let timer: Timer | undefined
  const count = async (): Promise<HourCounts> => countsOf(flow(), await queues())
  return {
    read: async () => {
      const counts = await count()
      const from = now() - hour
      // If the clock was set back, no sample is old enough: then everything counts.
      const before = samples.findLast(({ at }) => at <= from)
      const since = before?.at ?? Math.min(flow().startedAt, now())
      return { since: Math.max(since, from), ...minus(counts, before?.counts) }
    },
    sample: async () => {
      const counts = await count()
      samples.push({ at: now(), counts })
      const old = samples.findLastIndex(({ at }) => at <= now() - hour)
      if (old > 0) samples.splice(0, old)
      if (samples.length > 2 * (hour / minute)) samples.shift()
    },
    start(onError) {
      timer ??= every(minute, async () => this.sample(), onError)
    },
    stop: () => timer?.stop(),
  }
}

function countsOf(
  { received, accepted, duplicate, ignored, refused, attempts }: Flow,
  queues: readonly ExportQueueStatus[],
): HourCounts {
  return {
    received,
    accepted,
    duplicate,
    ignored: Object.values(ignored).reduce((sum, one) => sum + one, 0),
    refused: refused.reduce((sum, one) => sum + one.count, 0),
    settled: attempts,
    delivered: queues.reduce((sum, queue) => sum + queue.counters.delivered, 0),
  }
}

function minus(counts: HourCounts, before: HourCounts | undefined): HourCounts {
  if (before === undefined) return counts
  const left = Object.entries(counts).map(([name, count]) => [
    name,
    Math.max(0, count - before[name as keyof HourCounts]),
  ])
  return Object.fromEntries(left) as HourCounts
}
