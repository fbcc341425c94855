// The action "Try now", for a backend that was just repaired: its button, and its result.
import { counted } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import type { ExportQueueStatus } from './queue-shape.ts'
import type { RequestContext } from '../layout/frame.ts'

/** Whether something waits for its next try: exports, or an open circuit breaker. */
function waits({ state, pending, putOff, nextTry }: ExportQueueStatus): boolean {
  if (state === 'unserved' || state === 'held') return false
  return (pending > 0 && putOff > 0) || (state === 'open' && nextTry !== undefined)
}

/** The button; empty if nothing waits. */
export function tryNowForm(queues: readonly ExportQueueStatus[], { base, form, may }: RequestContext): Content {
  if (may !== 'all' || !queues.some(waits)) return ''
  return html`<form method="post" action="${base}/exports/do">
    <input type="hidden" name="form" value="${form}" />
    <input type="hidden" name="do" value="now" />
    <button>Try now</button>
  </form>`
}

/** The result of the action, from the query of the page that it redirects to. */
export function saysTried(query: URLSearchParams): Html | false {
  const [due, probes] = [Number(query.get('count')), Number(query.get('probes'))]
  if (!Number.isSafeInteger(due) || !Number.isSafeInteger(probes)) return false
  const said = [
    due > 0 && `${counted(due, 'export')} that had been put off ${due === 1 ? 'is' : 'are'} sent now`,
    probes > 0 && `${counted(probes, 'open circuit breaker')} let${probes === 1 ? 's' : ''} a probe through`,
  ].filter(one => one !== false)
  return html`<p class="notice done" role="status">
    ${said.length === 0 ? 'Nothing waited: there was nothing to try.' : `${said.join('; ')}. The backlog shows what becomes of it.`}
  </p>`
}
