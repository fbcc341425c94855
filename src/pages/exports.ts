// The page of exports: what is pending for each destination, dead letters with the reasons, and their actions.
import { card, empty, region, table, type Page, type Reader } from './frame.ts'
import { counted, duration, number, since, time } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { queueBadge } from './overview.ts'
import { saysTried, tryNowForm } from './try-now.ts'
import type { DeadLetter } from '../store/ports/outbox.ts'
import type { ExportQueueStatus, PagesSources } from './ports.ts'
import type { Millis } from '../model/instant.ts'

export interface ExportsView {
  readonly queues: readonly ExportQueueStatus[]
  readonly deadLetters: readonly DeadLetter[]
}

const shown = 100

export async function exportsView(parts: PagesSources): Promise<ExportsView> {
  const [queues, deadLetters] = await Promise.all([parts.queues(), parts.outbox.deadLetters(shown)])
  return { queues, deadLetters }
}

export function exportsPage({ queues, deadLetters }: ExportsView, reader: Reader): Page {
  const { base, now, query } = reader
  const dead = queues.reduce((sum, queue) => sum + queue.dead, 0)
  return {
    title: 'Exports',
    live: true,
    content: html`
      <h1>Exports and dead letters</h1>
      ${outcome(query)}
      ${region('queues', card('Backlog', queuesTable(queues, now), { aside: tryNowForm(queues, reader) }))}
      ${region(
        'dead',
        card('Dead letters', deadTable(deadLetters, reader), {
          aside:
            deadLetters.length > 0 &&
            html`<span class="buttons"
              ><a class="button" href="${base}/exports/confirm?do=retry&amp;which=all">Send all again</a
              ><a class="button danger" href="${base}/exports/confirm?do=drop&amp;which=all">Drop all</a></span
            >`,
        }),
      )}
      ${dead > deadLetters.length && html`<p class="dim">Shown: ${number(deadLetters.length)} of ${counted(dead, 'dead letter')}, the newest of projects that are not hidden.</p>`}
    `,
  }
}

function queuesTable(queues: readonly ExportQueueStatus[], now: Millis): Content {
  if (queues.length === 0) return empty('No destination is configured.')
  const rows = queues.map(queue => [
    queueBadge(queue),
    html`<span class="whole"><strong>${queue.destination}</strong> ${queue.signal}</span>`,
    html`<span class="figure">${number(queue.pending)}</span>`,
    queue.oldest === undefined ? '–' : html`<span class="whole">${duration(now - queue.oldest)}</span>`,
    html`<span class="figure">${number(queue.counters.delivered)}</span>`,
    since(queue.lastSuccess, now),
    html`<span class="whole">${nextTry(queue, now)}</span>`,
    queue.lastError === undefined
      ? '–'
      : html`<span class="said"
            >${queue.lastError.status !== undefined && `${queue.lastError.status}: `}${queue.lastError.message}</span
          >
          <span class="dim">${since(queue.lastError.at, now)}</span>`,
  ])
  return table(
    'Backlog of each destination and signal',
    ['Circuit breaker', 'Destination', 'Pending', 'Oldest', 'Delivered', 'Last success', 'Next try', 'Last error'],
    rows,
  )
}

/** In whole seconds, because the page is sent again every second if it has changed. */
function nextTry({ nextTry: at }: ExportQueueStatus, now: Millis): string {
  if (at === undefined) return '–'
  const seconds = Math.ceil((at - now) / 1_000)
  return seconds <= 1 ? 'now' : `in ${seconds < 60 ? `${seconds} s` : duration(seconds * 1_000)}`
}

function deadTable(letters: readonly DeadLetter[], { base, now }: Reader): Content {
  if (letters.length === 0) return empty('No backend has permanently refused an export.')
  const rows = letters.map(letter => [
    html`<span class="mono">${letter.id}</span>`,
    time(letter.settledAt, now),
    html`<span class="whole"><strong>${letter.destination}</strong> ${letter.signal}</span>`,
    html`<a href="${base}/exports/${letter.id}"
        >${letter.pipelineId === undefined ? `${letter.event ?? ''} event` : `#${letter.pipelineId}`}</a
      >${letter.attempt > 1 && `, attempt ${letter.attempt}`}${letter.chunk > 1 && `, chunk ${letter.chunk}`}`,
    html`<span class="said">${letter.status > 0 && `${letter.status}: `}${letter.error}</span>`,
    html`<span class="buttons"
      ><a
        class="button"
        href="${base}/exports/confirm?do=retry&amp;which=${letter.id}"
        aria-label="Send again dead letter ${letter.id}"
        >Send again</a
      ><a
        class="button danger"
        href="${base}/exports/confirm?do=drop&amp;which=${letter.id}"
        aria-label="Drop dead letter ${letter.id}"
        >Drop</a
      ></span
    >`,
  ])
  return table('Dead letters', ['No.', 'Refused', 'Destination', 'Pipeline or event', 'Last error', ''], rows)
}

/** An action on dead letters. */
export interface Action {
  readonly verb: 'retry' | 'drop'
  readonly which: readonly number[] | 'all'
}

/** Undefined if the form is not a valid action. */
export function actionOf(values: URLSearchParams): Action | undefined {
  const [verb, which] = [values.get('do'), values.get('which')]
  if (verb !== 'retry' && verb !== 'drop') return undefined
  if (which === 'all') return { verb, which }
  const id = Number(which)
  return Number.isSafeInteger(id) && id > 0 ? { verb, which: [id] } : undefined
}

export function confirmPage({ verb, which }: Action, { base, form }: Reader): Page {
  const what = which === 'all' ? 'all dead letters' : `dead letter ${which.join(', ')}`
  const says =
    verb === 'retry'
      ? 'They become pending again and are sent unchanged. If nothing has changed at the backend, they will be refused again.'
      : 'Their data never reaches the backend. This cannot be undone.'
  return {
    title: verb === 'retry' ? 'Send again?' : 'Drop?',
    content: html`<h1>${verb === 'retry' ? `Send ${what} again?` : `Drop ${what}?`}</h1>
      <p>${says}</p>
      <form method="post" action="${base}/exports/do" class="buttons">
        <input type="hidden" name="form" value="${form}" />
        <input type="hidden" name="do" value="${verb}" />
        <input type="hidden" name="which" value="${which === 'all' ? 'all' : which.join()}" />
        <button class="${verb === 'drop' ? 'danger' : 'primary'}">
          ${verb === 'retry' ? 'Send again' : 'Drop for good'}
        </button>
        <a class="button plain" href="${base}/exports">Back</a>
      </form>`,
  }
}

export async function perform({ outbox: exports, onRetried }: PagesSources, { verb, which }: Action): Promise<number> {
  if (verb === 'drop') return exports.dropDead(which)
  const count = await exports.retryDead(which)
  onRetried()
  return count
}

function outcome(query: URLSearchParams): Html | false {
  if (query.get('done') === 'now') return saysTried(query)
  const [verb, count] = [query.get('done'), Number(query.get('count'))]
  if ((verb !== 'retry' && verb !== 'drop') || !Number.isSafeInteger(count)) return false
  const what = counted(count, 'dead letter')
  return html`<p class="notice done" role="status">
    ${verb === 'retry' ? `${what} pending again.` : `${what} dropped.`}
  </p>`
}
