// The page of exports: what is pending for each destination, dead letters with the reasons, and their actions.
import { z } from 'zod'
import { card, region, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, number } from '../layout/format.ts'
import { deadLetterKeys, deadTable, queueKeys, queuesTable } from './export-tables.ts'
import { html, type Html } from '../layout/html.ts'
import { ordered } from '../layout/sorting.ts'
import { deadLetterShape } from './dead-letter.ts'
import { queueShape, type ExportQueueStatus, type TriedNow } from './queue-shape.ts'
import { saysTried, tryNowForm } from './try-now.ts'
import type { DeadLetter } from '../../core/store/ports/outbox.ts'
import { actorOf, type Admitted } from '../access/access.ts'
import type { PagesSources } from '../ports.ts'

export const exportsShape = z.object({
  queues: z.array(queueShape),
  deadLetters: z.array(deadLetterShape),
  unrouted: z.number().describe("Snapshots since the daemon's start that no destination takes."),
})

interface ExportsView {
  readonly queues: readonly ExportQueueStatus[]
  readonly deadLetters: readonly DeadLetter[]
  readonly unrouted: number
}

const shown = 100

/** `sort`: a column of either table. It does not change which dead letters are listed: the newest. */
export async function exportsView(parts: PagesSources, sort?: string | null): Promise<ExportsView> {
  const [queues, deadLetters] = await Promise.all([parts.queues(), parts.outbox.deadLetters(shown)])
  return {
    queues: ordered(queueKeys, queues, sort),
    deadLetters: ordered(deadLetterKeys, deadLetters, sort),
    unrouted: parts.flow().unrouted,
  }
}

export function exportsPage({ queues, deadLetters, unrouted }: ExportsView, context: RequestContext): Page {
  const { base, query, may } = context
  const dead = queues.reduce((sum, queue) => sum + queue.dead, 0)
  return {
    title: 'Exports',
    live: true,
    content: html`
      <h1>Exports and dead letters</h1>
      ${outcome(query)}
      ${region('queues', card('Backlog', queuesTable(queues, withoutOutcome(context)), { aside: tryNowForm(queues, context) }))}
      ${region(
        'unrouted',
        unrouted > 0 &&
          html`<p>
            ${counted(unrouted, 'snapshot')} since the start went nowhere: no destination takes their projects. The log
            names the projects, and <code>pipespan doctor --project GROUP/PROJECT</code> says where one goes.
          </p>`,
      )}
      ${region(
        'dead',
        card('Dead letters', deadTable(deadLetters, withoutOutcome(context)), {
          aside:
            may !== 'nothing' &&
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

/** An action on dead letters. */
interface Action {
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

/** Undefined if it is about a dead letter that does not exist for whoever asks. */
export async function confirmPage(
  { outbox }: Pick<PagesSources, 'outbox'>,
  { verb, which }: Action,
  { base, form }: RequestContext,
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

/** `by`: whoever asks for it. */
export async function perform(parts: PagesSources, { verb, which }: Action, by: Admitted): Promise<number> {
  const { outbox: exports, onRetried } = parts
  const count = await (verb === 'drop' ? exports.dropDead(which) : exports.retryDead(which))
  if (verb === 'retry') onRetried()
  await parts.onAction?.({ ...actorOf(by), action: verb, target: which === 'all' ? which : which.join(','), count })
  return count
}

/** The same. */
export async function tryNow(parts: PagesSources, by: Admitted, destination?: string): Promise<TriedNow> {
  const tried = await parts.tryNow(destination)
  await parts.onAction?.({ ...actorOf(by), action: 'try_now', target: destination ?? 'all', count: tried.due })
  return tried
}

/** Links that sort a table leave out the outcome of the last action. */
function withoutOutcome(context: RequestContext): RequestContext {
  const query = new URLSearchParams(context.query)
  for (const name of ['done', 'count', 'probes']) query.delete(name)
  return { ...context, query }
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
