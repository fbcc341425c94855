// "Try now": for who has mended a backend and does not want to wait for the next probe, and for what came of it.
import { counted } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import type { ExportQueueStatus } from './ports.ts'
import type { Reader } from './frame.ts'

/** True where something could be sent before its time: a circuit breaker is open, or exports were put off. */
function waits({ state, pending, putOff, nextTry }: ExportQueueStatus): boolean {
  if (state === 'unserved') return false
  return (pending > 0 && putOff > 0) || (state === 'open' && nextTry !== undefined)
}

/** A button, where it would do something: whoever has mended a backend need not wait for the next probe. */
export function tryNowForm(queues: readonly ExportQueueStatus[], { base, form }: Reader): Content {
  if (!queues.some(waits)) return ''
  return html`<form method="post" action="${base}/exports/do">
    <input type="hidden" name="form" value="${form}" />
    <input type="hidden" name="do" value="now" />
    <button>Try now</button>
  </form>`
}

/** What the action has done, as its address says. */
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
