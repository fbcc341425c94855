// One dead letter: what was refused, with the backend's own message, and what it holds.
import { card, facts, type Page, type Reader } from './frame.ts'
import { html } from './html.ts'
import { pipelineAddress } from './run-rows.ts'
import { time } from './format.ts'
import { valueOf } from './attributes.ts'
import type { PagesSources } from './ports.ts'

/** Spans shown in full; of the others only the names. */
const whole = 3

export async function deadLetterPage(
  parts: PagesSources,
  id: number,
  { base, now }: Reader,
): Promise<Page | undefined> {
  const found = await parts.outbox.deadLetter(id)
  if (found === undefined) return undefined
  const { letter, chunk } = found
  const spans = chunk === undefined ? [] : parts.exported([chunk])
  return {
    title: `Dead letter ${id}`,
    content: html`
      <nav class="crumbs" aria-label="Where this is"><a href="${base}/exports">Exports</a></nav>
      <div class="page-head">
        <h1>Dead letter ${id}</h1>
        <span class="buttons">
          <a class="button" href="${base}/exports/confirm?do=retry&amp;which=${id}">Send again</a>
          <a class="button danger" href="${base}/exports/confirm?do=drop&amp;which=${id}">Drop</a>
        </span>
      </div>
      ${card(
        'What the backend said',
        html`<blockquote>${letter.error}</blockquote>
          ${facts([
            ['Destination', `${letter.destination}, ${letter.signal}`],
            ['Answer', letter.status === 0 ? 'none' : `HTTP ${letter.status}`],
            ['Refused', time(letter.settledAt, now)],
            ['Pending since', time(letter.pendingSince, now)],
            [
              'Pipeline',
              chunk === undefined
                ? `#${letter.pipelineId}`
                : html`<a
                    href="${pipelineAddress(base, { projectId: chunk.project.id, pipelineId: letter.pipelineId })}"
                    >#${letter.pipelineId}</a
                  >`,
            ],
            ['Attempt', `${letter.attempt}, chunk ${letter.chunk}`],
          ])}`,
      )}
      ${card(
        'What it holds',
        html`${chunk === undefined && html`<p>What is stored of it is damaged and cannot be shown.</p>`}
        ${spans.slice(0, whole).map(
          span =>
            html`<h3>${span.name}</h3>
              <dl class="attributes">
                ${Object.entries(span.attributes).map(
                  ([name, value]) =>
                    html`<div>
                      <dt>${name}</dt>
                      <dd>${valueOf(value)}</dd>
                    </div>`,
                )}
              </dl>`,
        )}
        ${
          spans.length > whole &&
          html`<p class="dim">
            And
            ${spans
              .slice(whole)
              .map(span => span.name)
              .join(', ')}.
          </p>`
        }`,
      )}
    `,
  }
}
