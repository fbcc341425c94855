// The tables of the page of exports: the backlog and the dead letters.
import { duration, number, said, since, time } from '../layout/format.ts'
import { empty, type RequestContext } from '../layout/frame.ts'
import { destinationsWithheld } from '../access/within-scope.ts'
import { html, type Content } from '../layout/html.ts'
import { queueBadge } from '../overview/overview.ts'
import { figures, sortedTable, type Keys } from '../layout/sorting.ts'
import type { DeadLetter } from '../../core/store/ports/outbox.ts'
import type { ExportQueueStatus } from './queue-shape.ts'
import type { Millis } from '../../model/instant.ts'

export const queueKeys = {
  breaker: ({ state }) => state,
  destination: ({ destination, signal }) => `${destination} ${signal}`,
  pending: ({ pending }) => pending,
  oldest: ({ oldest }) => oldest,
  delivered: ({ counters }) => counters.delivered,
  success: ({ lastSuccess }) => lastSuccess,
  next: ({ nextTry: at }) => at,
  error: ({ lastError }) => lastError?.message,
} satisfies Keys<ExportQueueStatus>

export function queuesTable(queues: readonly ExportQueueStatus[], context: RequestContext): Content {
  if (context.seesDestinations === false) return empty(destinationsWithheld)
  if (queues.length === 0) return empty('Nothing is exported: there is no destination.')
  const { now } = context
  const of = queueKeys
  return sortedTable<ExportQueueStatus>(
    'Backlog of each destination and signal',
    {
      breaker: { head: 'Circuit breaker', of: of.breaker, cell: queueBadge },
      destination: {
        head: 'Destination',
        of: of.destination,
        cell: ({ destination, signal }) => html`<span class="whole"><strong>${destination}</strong> ${signal}</span>`,
      },
      pending: figures('Pending', of.pending, number),
      oldest: {
        head: 'Oldest',
        of: of.oldest,
        cell: ({ oldest }) => (oldest === undefined ? '–' : html`<span class="whole">${duration(now - oldest)}</span>`),
      },
      delivered: figures('Delivered', of.delivered, number),
      success: { head: 'Last success', of: of.success, cell: ({ lastSuccess }) => since(lastSuccess, now) },
      next: { head: 'Next try', of: of.next, cell: queue => html`<span class="whole">${nextTry(queue, now)}</span>` },
      error: { head: 'Last error', of: of.error, cell: queue => lastError(queue, now) },
    },
    queues,
    context,
  )
}

function lastError({ lastError: error }: ExportQueueStatus, now: Millis): Content {
  if (error === undefined) return '–'
  return html`<span class="said">${error.status !== undefined && `${error.status}: `}${error.message}</span>
    <span class="dim">${since(error.at, now)}</span>`
}

/** In whole seconds, because the page is sent again every second if it has changed. */
function nextTry({ nextTry: at }: ExportQueueStatus, now: Millis): string {
  if (at === undefined) return '–'
  const seconds = Math.ceil((at - now) / 1_000)
  return seconds <= 1 ? 'now' : `in ${seconds < 60 ? `${seconds} s` : duration(seconds * 1_000)}`
}

export const deadLetterKeys = {
  number: ({ id }) => id,
  refused: ({ settledAt }) => settledAt,
  destination: ({ destination, signal }) => `${destination} ${signal}`,
  of: ({ pipelineId, event }) => (pipelineId === undefined ? event : String(pipelineId)),
  error: ({ status, error }) => `${status}: ${error}`,
} satisfies Keys<DeadLetter>

export function deadTable(letters: readonly DeadLetter[], context: RequestContext): Content {
  if (letters.length === 0) return empty('No backend has permanently refused an export.')
  const { base, now } = context
  const of = deadLetterKeys
  return sortedTable<DeadLetter>(
    'Dead letters',
    {
      number: { head: 'No.', of: of.number, cell: ({ id }) => html`<span class="mono">${id}</span>` },
      refused: { head: 'Refused', of: of.refused, cell: ({ settledAt }) => time(settledAt, now) },
      destination: {
        head: 'Destination',
        of: of.destination,
        cell: ({ destination, signal }) => html`<span class="whole"><strong>${destination}</strong> ${signal}</span>`,
      },
      of: { head: 'Pipeline or event', of: of.of, cell: letter => whatOf(letter, base) },
      error: {
        head: 'Last error',
        of: of.error,
        cell: ({ status, error }) => said([status > 0 && `${status}: `, error]),
      },
      ...(context.may !== 'nothing' && { actions: { head: '', cell: letter => actions(letter, base) } }),
    },
    letters,
    context,
  )
}

function whatOf({ id, pipelineId, event, attempt, chunk }: DeadLetter, base: string): Content {
  return html`<a href="${base}/exports/${id}">${pipelineId === undefined ? `${event ?? ''} event` : `#${pipelineId}`}</a
    >${attempt > 1 && `, attempt ${attempt}`}${chunk > 1 && `, chunk ${chunk}`}`
}

function actions({ id }: DeadLetter, base: string): Content {
  return html`<span class="buttons"
    ><a class="button" href="${base}/exports/confirm?do=retry&amp;which=${id}" aria-label="Send again dead letter ${id}"
      >Send again</a
    ><a class="button danger" href="${base}/exports/confirm?do=drop&amp;which=${id}" aria-label="Drop dead letter ${id}"
      >Drop</a
    ></span
  >`
}
