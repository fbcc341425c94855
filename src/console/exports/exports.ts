// The exports page. It shows each destination's pending exports and the dead letters with their reasons, and offers actions on them.
import { z } from 'zod'
import { card, empty, region, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, number } from '../layout/format.ts'
import { deadLetterList, queueList, type ExportQueueStatus, type TriedNow } from './columns.ts'
import { destinationsWithheld } from '../access/within-scope.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import type { Shaped } from '../layout/shape.ts'
import { actorOf, type Admitted } from '../access/access.ts'
import { sortBy } from '../api/api-queries.ts'
import type { PagesSources } from '../ports.ts'

export const exportsShape = z.object({
  queues: z.array(queueList.shape),
  deadLetters: z.array(deadLetterList.shape),
  isCut: z.boolean().describe('True if older dead letters are left out.'),
  unrouted: z.number().describe('Number of snapshots since the daemon started for which no destination is configured.'),
})

type ExportsView = Shaped<typeof exportsShape>

/** `sort` may be a column of either list: the backlog or the dead letters. */
export const exportsQuery = z.object({ sort: sortBy(queueList.keys, deadLetterList.keys) })

const shown = 100

/**
 * Reads the content of the exports page. `sort` is a column of either table on the page. It only orders the rows: the dead letters listed are always
 * the newest.
 */
export async function exportsView(parts: PagesSources, sort?: string | null): Promise<ExportsView> {
  // One more dead letter is read than is shown. If it exists, the list is incomplete.
  const [queues, newest] = await Promise.all([parts.queues(), parts.outbox.deadLetters(shown + 1)])
  const deadLetters = newest.slice(0, shown)
  return {
    queues: queueList.sorted(queues, sort),
    deadLetters: deadLetterList.sorted(deadLetters, sort),
    isCut: newest.length > shown,
    unrouted: parts.flow().unrouted,
  }
}

export function exportsPage({ queues, deadLetters, isCut, unrouted }: ExportsView, context: RequestContext): Page {
  const { base, query, may } = context
  const reader = withoutOutcome(context)
  const dead = queues.reduce((sum, queue) => sum + queue.dead, 0)
  return {
    title: 'Exports',
    live: true,
    content: html`
      <h1>Exports and dead letters</h1>
      ${outcome(query)}
      ${region('queues', card('Backlog', backlog(queues, reader), { aside: tryNowForm(queues, context) }))}
      ${region(
        'unrouted',
        unrouted > 0 &&
          html`<p>
            ${counted(unrouted, 'snapshot')} since the start ${unrouted === 1 ? 'was' : 'were'} not exported: no
            destination is configured for their projects. The log names the projects, and
            <code>pipespan doctor --project GROUP/PROJECT</code> shows the destinations of a project.
          </p>`,
      )}
      ${region(
        'dead',
        card(
          'Dead letters',
          deadLetters.length === 0
            ? empty('No backend has permanently refused an export.')
            : deadLetterList.draw('Dead letters', deadLetters, reader),
          {
            aside:
              may !== 'nothing' &&
              deadLetters.length > 0 &&
              html`<span class="buttons"
                ><a class="button" href="${base}/exports/confirm?do=retry&amp;which=all">Send all again</a
                ><a class="button danger" href="${base}/exports/confirm?do=drop&amp;which=all">Drop all</a></span
              >`,
          },
        ),
      )}
      ${dead === 0 && isCut && html`<p class="dim">Shown: the newest ${number(deadLetters.length)}.</p>`}
      ${dead > deadLetters.length && html`<p class="dim">Shown: ${number(deadLetters.length)} of ${counted(dead, 'dead letter')}, the newest of projects that are not hidden.</p>`}
    `,
  }
}

function backlog(queues: readonly ExportQueueStatus[], context: RequestContext): Content {
  if (context.seesDestinations === false) return empty(destinationsWithheld)
  if (queues.length === 0) return empty('Nothing is exported: there is no destination.')
  return queueList.draw('Backlog of each destination and signal', queues, context)
}

/** An action on dead letters. */
interface Action {
  readonly verb: 'retry' | 'drop'
  readonly which: readonly number[] | 'all'
}

/** Parses the form for an action on dead letters. Returns undefined if the form is invalid. */
export function actionOf(values: URLSearchParams): Action | undefined {
  const [verb, which] = [values.get('do'), values.get('which')]
  if (verb !== 'retry' && verb !== 'drop') return undefined
  if (which === 'all') return { verb, which }
  const id = Number(which)
  return Number.isSafeInteger(id) && id > 0 ? { verb, which: [id] } : undefined
}

/**
 * Renders the confirmation page for an action. Returns undefined if the action names a dead letter that does not exist or that the user may not see.
 */
export async function confirmPage(
  { outbox }: Pick<PagesSources, 'outbox'>,
  { verb, which }: Action,
  { base }: RequestContext,
): Promise<Page | undefined> {
  if (which !== 'all' && (await Promise.all(which.map(async id => outbox.deadLetter(id)))).includes(undefined))
    return undefined
  const what = which === 'all' ? 'all dead letters' : `dead letter ${which.join(', ')}`
  const description =
    verb === 'retry'
      ? 'They become pending again and are sent unchanged. If nothing has changed at the backend, they will be refused again.'
      : 'Their data never reaches the backend. This cannot be undone.'
  return {
    title: verb === 'retry' ? 'Send again?' : 'Drop?',
    content: html`<h1>${verb === 'retry' ? `Send ${what} again?` : `Drop ${what}?`}</h1>
      <p>${description}</p>
      <form method="post" action="${base}/exports/do" class="buttons">
        <input type="hidden" name="do" value="${verb}" />
        <input type="hidden" name="which" value="${which === 'all' ? 'all' : which.join()}" />
        <button class="${verb === 'drop' ? 'danger' : 'primary'}">
          ${verb === 'retry' ? 'Send again' : 'Drop for good'}
        </button>
        <a class="button plain" href="${base}/exports">Back</a>
      </form>`,
  }
}

/** Returns the number of dead letters that the action changed. */
export async function perform(parts: PagesSources, { verb, which }: Action, by: Admitted): Promise<number> {
  const { outbox: exports, onRetried } = parts
  const count = await (verb === 'drop' ? exports.dropDead(which) : exports.retryDead(which))
  if (verb === 'retry') onRetried()
  await parts.onAction?.({ ...actorOf(by), action: verb, target: which === 'all' ? which : which.join(','), count })
  return count
}

/** Retries pending exports immediately. `by` is the user who requested it. If `destination` is undefined, all destinations are retried. */
export async function tryNow(parts: PagesSources, by: Admitted, destination?: string): Promise<TriedNow> {
  const tried = await parts.tryNow(destination)
  await parts.onAction?.({ ...actorOf(by), action: 'try_now', target: destination ?? 'all', count: tried.due })
  return tried
}

/** Removes the last action's result from the query, so that sort links do not show it again. */
function withoutOutcome(context: RequestContext): RequestContext {
  const query = new URLSearchParams(context.query)
  for (const name of ['done', 'count', 'probes']) query.delete(name)
  return { ...context, query }
}

const outcomes = {
  retry: (count: number) => `${counted(count, 'dead letter')} pending again.`,
  drop: (count: number) => `${counted(count, 'dead letter')} dropped.`,
  now: (due: number, probes: number) => {
    const results = [
      due > 0 && `${counted(due, 'postponed export')} ${due === 1 ? 'is' : 'are'} sent now`,
      probes > 0 && `${counted(probes, 'open circuit breaker')} let${probes === 1 ? 's' : ''} a probe through`,
    ].filter(one => one !== false)
    if (results.length === 0) return 'No exports were postponed: there was nothing to retry.'
    return `${results.join('; ')}. The backlog shows the result.`
  },
}

/** Renders the result of an action, which is passed in the query of the page that the action redirects to. */
function outcome(query: URLSearchParams): Html | false {
  const [done, count, probes] = [query.get('done') ?? '', Number(query.get('count')), Number(query.get('probes'))]
  if (!Object.hasOwn(outcomes, done) || !Number.isSafeInteger(count) || !Number.isSafeInteger(probes)) return false
  return html`<p class="notice done" role="status">${outcomes[done as keyof typeof outcomes](count, probes)}</p>`
}

/** Whether exports or an open circuit breaker are waiting for their next attempt. */
function waits({ state, pending, putOff, nextTry }: ExportQueueStatus): boolean {
  if (state === 'unserved' || state === 'held') return false
  return (pending > 0 && putOff > 0) || (state === 'open' && nextTry !== undefined)
}

/** Renders the button that retries exports immediately, for example after a backend was repaired; empty if no export is waiting for a retry. */
export function tryNowForm(queues: readonly ExportQueueStatus[], { base, may }: RequestContext): Content {
  if (may !== 'all' || !queues.some(waits)) return ''
  return html`<form method="post" action="${base}/exports/do">
    <input type="hidden" name="do" value="now" />
    <button>Try now</button>
  </form>`
}
