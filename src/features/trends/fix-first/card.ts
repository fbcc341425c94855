// The card of the overview that says what to fix first, and why.
import { amount } from '../cost/tables.ts'
import { card, type RequestContext } from '../../../console/layout/frame.ts'
import { duration, figure } from '../../../console/layout/format.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import type { Fix, FixFirst } from './shape.ts'

/** Empty if nothing is worth a line. */
export function fixFirstCard({ fixes, unit }: FixFirst, { base }: Pick<RequestContext, 'base'>): Content {
  if (fixes.length === 0) return ''
  return card(
    'Fix first',
    html`<ol class="plain-list">
      ${fixes.map(fix => fixRow(fix, unit, base))}
    </ol>`,
    { aside: 'what costs most per week' },
  )
}

function fixRow(
  { kind, subject, project, weekMs, cost, why, path }: Fix,
  unit: string | undefined,
  base: string,
): Html {
  return html`<li class="pair">
    <span class="name"
      ><span class="tag">${kindWords[kind] ?? kind.replaceAll('_', ' ')}</span>
      <a href="${base}${path}"><strong>${subject}</strong></a
      >${project !== undefined && html` <span class="dim">${pathText(project)}</span>`}<br /><span class="dim"
        >${why}</span
      ></span
    >
    <span class="right"
      >${figure(duration(weekMs))}${cost !== undefined && unit !== undefined && html`<br />${figure(amount({ totalMs: weekMs, cost }, unit))}`}</span
    >
  </li>`
}

const kindWords: Readonly<Record<string, string>> = { failing: 'always fails', wait: 'waits for runners' }
