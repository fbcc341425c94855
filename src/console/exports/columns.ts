// The lists on the exports page: the backlog per destination and signal, and the dead letters.
import { z } from 'zod'
import { badge } from '../layout/status.ts'
import { drawn, listOf } from '../layout/list.ts'
import { duration, figure, number, quoted, since, time } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import type { Millis } from '../../model/instant.ts'
import type { Signal } from '../../core/store/ports/outbox.ts'

const isWhole = (content: Content): Html => html`<span class="whole">${content}</span>`
const breakerStates = ['closed', 'open', 'half-open', 'unserved', 'held'] as const
const breakerCauses = ['unavailable', 'unauthorized', 'unacceptable'] as const

/**
 * The state of an export queue, which sends one signal to one destination. A queue is in one of the states of its circuit breaker, `unserved` or
 * `held`.
 */
export const queueList = listOf()({
  state: {
    json: z
      .enum(breakerStates)
      .describe(
        'State of the circuit breaker: healthy, tripped, probing; `unserved`: the destination is no longer configured; `held`: its endpoint has changed, and exports that were pending for the previous endpoint wait for `pipespan held`.',
      ),
    title: 'Circuit breaker',
    as: 'breaker',
    cell: queueBadge,
  },
  cause: { json: z.enum(breakerCauses).optional().describe('Why the circuit breaker is not closed.') },
  destination: {
    json: z.string(),
    title: 'Destination',
    by: ({ destination, signal }) => `${destination} ${signal}`,
    cell: ({ destination, signal }) => isWhole(html`<strong>${destination}</strong> ${signal}`),
  },
  signal: { json: z.string<Signal>() },
  pending: { json: z.number(), title: 'Pending', cell: ({ pending }) => figure(number(pending)) },
  oldest: {
    json: millis.optional(),
    title: 'Oldest',
    cell: ({ oldest }, { now }) => (oldest === undefined ? '–' : isWhole(duration(now - oldest))),
  },
  dead: { json: z.number() },
  putOff: {
    json: z
      .number()
      .describe('Number of pending exports whose last attempt failed and that wait for the next attempt.'),
  },
  counters: {
    json: z.record(z.string<'delivered' | 'repeated' | 'partiallyRejected'>(), z.number()),
    title: 'Delivered',
    as: 'delivered',
    by: ({ counters }) => counters.delivered,
    cell: ({ counters }) => figure(number(counters.delivered)),
  },
  lastSuccess: {
    json: millis.optional(),
    title: 'Last success',
    as: 'success',
    cell: ({ lastSuccess }, { now }) => since(lastSuccess, now),
  },
  nextTry: {
    json: millis.optional(),
    title: 'Next try',
    as: 'next',
    cell: ({ nextTry }, { now }) => isWhole(tryWords(nextTry, now)),
  },
  lastError: {
    json: z.object({ message: z.string(), status: z.number().optional(), at: millis }).optional(),
    title: 'Last error',
    as: 'error',
    by: ({ lastError }) => lastError?.message,
    cell: ({ lastError: error }, { now }) =>
      error === undefined
        ? '–'
        : html`<span class="said">${error.status !== undefined && `${error.status}: `}${error.message}</span>
            <span class="dim">${since(error.at, now)}</span>`,
  },
})
export type ExportQueueStatus = Shaped<typeof queueList.shape>

export const deadLetterList = listOf()({
  id: { json: z.number(), title: 'No.', as: 'number', cell: ({ id }) => html`<span class="mono">${id}</span>` },
  settledAt: {
    json: millis,
    title: 'Refused',
    as: 'refused',
    cell: ({ settledAt }, { now }) => time(settledAt, now),
  },
  destination: {
    json: z.string(),
    title: 'Destination',
    by: ({ destination, signal }) => `${destination} ${signal}`,
    cell: ({ destination, signal }) => isWhole(html`<strong>${destination}</strong> ${signal}`),
  },
  signal: { json: z.string<Signal>() },
  instance: { json: z.string() },
  projectId: { json: z.number().optional() },
  pipelineId: {
    json: z.number().optional(),
    title: 'Pipeline or event',
    as: 'of',
    by: ({ pipelineId, event }) => (pipelineId === undefined ? event : String(pipelineId)),
    cell: ({ id, pipelineId, event, attempt, chunk }, { base }) =>
      html`<a href="${base}/exports/${id}">${pipelineId === undefined ? `${event ?? ''} event` : `#${pipelineId}`}</a
        >${attempt > 1 && `, attempt ${attempt}`}${chunk > 1 && `, chunk ${chunk}`}`,
  },
  event: { json: z.string().optional() },
  attempt: { json: z.number() },
  chunk: { json: z.number() },
  status: { json: z.number() },
  error: {
    json: z.string(),
    title: 'Last error',
    by: ({ status, error }) => `${status}: ${error}`,
    cell: ({ status, error }) => quoted([status > 0 && `${status}: `, error]),
  },
  tries: { json: z.number() },
  pendingSince: { json: millis },
  actions: {
    ...drawn,
    title: '',
    by: null,
    isFor: ({ may }) => may !== 'nothing',
    cell: ({ id }, { base }) =>
      html`<span class="buttons"
        ><a
          class="button"
          href="${base}/exports/confirm?do=retry&amp;which=${id}"
          aria-label="Send again dead letter ${id}"
          >Send again</a
        ><a
          class="button danger"
          href="${base}/exports/confirm?do=drop&amp;which=${id}"
          aria-label="Drop dead letter ${id}"
          >Drop</a
        ></span
      >`,
  },
})

export const triedNowShape = z.object({
  due: z.number().describe('Number of exports that waited for their next attempt.'),
  probes: z.number().describe('Number of queues whose circuit breaker was open.'),
})

/** The number of exports that are now due, and the number of circuit breakers that are now half-open. */
export type TriedNow = Shaped<typeof triedNowShape>

interface QueueState {
  readonly state: (typeof breakerStates)[number]
  readonly cause?: (typeof breakerCauses)[number] | undefined
  readonly lastSuccess?: Millis | undefined
}

/** Renders the state of an export queue's circuit breaker, and what it means. */
export function queueBadge({ state, cause, lastSuccess }: QueueState): Html {
  if (state === 'closed') return badge(lastSuccess === undefined ? 'created' : 'success', breakerWords.closed)
  return badge(cause ?? state, breakerWords[state] + (cause === undefined ? '' : `: ${causeWords[cause]}`))
}

const breakerWords: Readonly<Record<QueueState['state'], string>> = {
  closed: 'closed (healthy)',
  open: 'open (tripped)',
  'half-open': 'half-open (probing)',
  unserved: 'not configured',
  held: 'held',
}

const causeWords: Readonly<Record<NonNullable<QueueState['cause']>, string>> = {
  unavailable: 'not available',
  unauthorized: 'token rejected',
  unacceptable: 'refuses everything',
}

/** Formats the time until the next attempt in whole seconds, because an open page is updated every second. */
function tryWords(at: Millis | undefined, now: Millis): string {
  if (at === undefined) return '–'
  const seconds = Math.ceil((at - now) / 1_000)
  return seconds <= 1 ? 'now' : `in ${seconds < 60 ? `${seconds} s` : duration(seconds * 1_000)}`
}
