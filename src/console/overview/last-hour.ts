// This process's counts for the last hour. Counters only increase, so they are sampled every minute, and the sample from an hour ago is subtracted.
import { z } from 'zod'
import { millis, type Shaped } from '../layout/shape.ts'
import type { ExportQueueStatus } from '../exports/columns.ts'
import type { Flow } from './flow.ts'
import type { Millis } from '../../model/instant.ts'

/** The counts for the last hour. `since` is an hour ago, or the start of the process if that is later. */
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
  /** Returns the counts for the last hour, accurate to the minute. */
  read(): Promise<LastHour>
  /** Samples the counters. It must be called every minute. */
  sample(): Promise<void>
}

export const minute = 60_000
const hour = 60 * minute

interface HourSources {
  readonly flow: () => Flow
  readonly queues: () => Promise<readonly ExportQueueStatus[]>
  readonly now: () => Millis
}

export function createHourWatch({ flow, queues, now }: HourSources): HourWatch {
  let samples: readonly { readonly at: Millis; readonly counts: HourCounts }[] = []
  const count = async (): Promise<HourCounts> => countsOf(flow(), await queues())
  return {
    read: async () => {
      const counts = await count()
      const from = now() - hour
      // If the clock was set back, no sample is old enough. The counts since the start are shown instead.
      const before = samples.findLast(({ at }) => at <= from)
      const since = before?.at ?? Math.min(flow().startedAt, now())
      return { since: Math.max(since, from), ...minus(counts, before?.counts) }
    },
    sample: async () => {
      const counts = await count()
      samples = [...samples, { at: now(), counts }].slice(-(hour / minute + 2))
    },
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

function minus(counts: HourCounts, before: Partial<HourCounts> = {}): HourCounts {
  const names = Object.keys(counts) as (keyof HourCounts)[]
  return Object.fromEntries(names.map(name => [name, Math.max(0, counts[name] - (before[name] ?? 0))])) as HourCounts
}
