// The state of the export of one signal to one destination, as the pages show it, and the outcome of trying again: see the circuit breaker in the export room.
import { z } from 'zod'
import { counts, millis, type Shaped } from '../layout/shape.ts'
import type { Signal } from '../../core/store/ports/signal.ts'

export const queueShape = z.object({
  destination: z.string(),
  signal: z.string<Signal>(),
  state: z
    .enum(['closed', 'open', 'half-open', 'unserved', 'held'])
    .describe(
      'State of the circuit breaker: healthy, tripped, probing; `unserved`: the destination is no longer configured; `held`: its endpoint has changed, and what was pending for the one before waits for `pipespan held`.',
    ),
  cause: z
    .enum(['unavailable', 'unauthorized', 'unacceptable'])
    .optional()
    .describe('Why the circuit breaker is not closed.'),
  pending: z.number(),
  oldest: millis.optional(),
  dead: z.number(),
  putOff: z.number().describe('Pending ones whose last try failed, and that wait for the next.'),
  nextTry: millis.optional(),
  lastSuccess: millis.optional(),
  lastError: z.object({ message: z.string(), status: z.number().optional(), at: millis }).optional(),
  counters: counts,
})
export type ExportQueueStatus = Omit<Shaped<typeof queueShape>, 'counters'> & {
  readonly counters: Readonly<Record<'delivered' | 'repeated' | 'partiallyRejected', number>>
}

export const triedNowShape = z.object({
  due: z.number().describe('Number of exports that waited for their next try.'),
  probes: z.number().describe('Number of queues whose circuit breaker was open.'),
})
/** The exports are due now, and the circuit breakers half-open. */
export type TriedNow = Shaped<typeof triedNowShape>
