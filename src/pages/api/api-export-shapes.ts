// The shapes of the JSON API's answers about exports: queues, dead letters, and what an action did. Times are Unix milliseconds.
import { z } from 'zod'
import { millis } from './api-units.ts'

const counts = z.record(z.string(), z.number())

export const queue = z.object({
  destination: z.string(),
  signal: z.string(),
  state: z
    .enum(['closed', 'open', 'half-open', 'unserved'])
    .describe(
      'State of the circuit breaker: healthy, tripped, probing; `unserved`: the destination is no longer configured.',
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

const deadLetter = z.object({
  id: z.number(),
  destination: z.string(),
  signal: z.string(),
  instance: z.string(),
  pipelineId: z.number().optional(),
  event: z.string().optional(),
  attempt: z.number(),
  chunk: z.number(),
  status: z.number(),
  error: z.string(),
  tries: z.number(),
  pendingSince: millis,
  settledAt: millis,
})

export const exports = z.object({ queues: z.array(queue), deadLetters: z.array(deadLetter) })

export const deadLetterDetail = z.object({
  letter: deadLetter,
  projectId: z.number().optional(),
  contents: z
    .array(z.object({ name: z.string(), attributes: z.record(z.string(), z.unknown()) }))
    .optional()
    .describe('The spans, or the log record of an event. Absent: the stored data is damaged.'),
})

export const count = z.object({ count: z.number() })

export const triedNow = z.object({
  due: z.number().describe('Number of exports that waited for their next try.'),
  probes: z.number().describe('Number of queues whose circuit breaker was open.'),
})
