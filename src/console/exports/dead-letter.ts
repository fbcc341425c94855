// One dead letter, for its page and the JSON API: the backend's response and the rejected content.
import { z } from 'zod'
import { card, crumbs, facts, type Page, type RequestContext } from '../layout/frame.ts'
import { deadLetterList } from './columns.ts'
import { html, type Html } from '../layout/html.ts'
import type { Shaped } from '../layout/shape.ts'
import { pipelineAddress } from '../pipelines/run-rows.ts'
import { time } from '../layout/format.ts'
import { attributeTable } from '../layout/attributes.ts'
import type { PagesSources } from '../ports.ts'

export const deadLetterDetailShape = z.object({
  letter: deadLetterList.shape,
  contents: z
    .array(z.object({ name: z.string(), attributes: z.record(z.string(), z.unknown()) }))
    .optional()
    .describe('The refused spans, log records, metrics or message. Absent if the stored data is damaged.'),
})
type DeadLetterDetail = Shaped<typeof deadLetterDetailShape>

/** Returns undefined if the dead letter does not exist. */
export async function deadLetterDetail(
  { outbox, contentsOf }: Pick<PagesSources, 'outbox' | 'contentsOf'>,
  id: number,
): Promise<DeadLetterDetail | undefined> {
  const found = await outbox.deadLetter(id)
  return found && { letter: found.letter, contents: contentsOf(found.letter.signal, found.body) }
}

/** The maximum number of spans or records shown in full. The others are only listed by name. */
const maxInFull = 3

export async function deadLetterPage(
  parts: PagesSources,
  id: number,
  context: RequestContext,
): Promise<Page | undefined> {
  const { base, now, may } = context
  const found = await deadLetterDetail(parts, id)
  if (found === undefined) return undefined
  const { letter, contents } = found
  return {
    title: `Dead letter ${id}`,
    content: html`
      ${crumbs(html`<a href="${base}/exports">Exports</a>`)}
      <div class="page-head">
        <h1>Dead letter ${id}</h1>
        ${
          may !== 'nothing' &&
          html`<span class="buttons">
            <a class="button" href="${base}/exports/confirm?do=retry&amp;which=${id}">Send again</a>
            <a class="button danger" href="${base}/exports/confirm?do=drop&amp;which=${id}">Drop</a>
          </span>`
        }
      </div>
      ${card(
        'Response of the backend',
        html`<blockquote>${letter.error}</blockquote>
          ${facts([
            ['Destination', `${letter.destination}, ${letter.signal}`],
            ['Answer', letter.status === 0 ? 'none' : `HTTP ${letter.status}`],
            ['Refused', time(letter.settledAt, now)],
            ['Pending since', time(letter.pendingSince, now)],
            ...(letter.pipelineId === undefined
              ? ([['Event', letter.event ?? '']] as const)
              : ([
                  ['Pipeline', pipelineLink(letter.pipelineId, letter, context)],
                  ['Attempt', `${letter.attempt}, chunk ${letter.chunk}`],
                ] as const)),
          ])}`,
      )}
      ${card(
        'Contents',
        html`${contents === undefined && html`<p>The stored data is damaged and cannot be shown.</p>`}
        ${contents?.slice(0, maxInFull).map(
          one =>
            html`<h3>${one.name}</h3>
              ${attributeTable(`Attributes of ${one.name}`, one.attributes)}`,
        )}
        ${
          contents !== undefined &&
          contents.length > maxInFull &&
          html`<p class="dim">
            And
            ${contents
              .slice(maxInFull)
              .map(({ name }) => name)
              .join(', ')}.
          </p>`
        }`,
      )}
    `,
  }
}

function pipelineLink(
  pipelineId: number,
  { instance, projectId }: Pick<DeadLetterDetail['letter'], 'instance' | 'projectId'>,
  context: RequestContext,
): Html | string {
  if (projectId === undefined) return `#${pipelineId}`
  return html`<a href="${pipelineAddress(context.base, { instance, projectId, pipelineId }, context)}"
    >#${pipelineId}</a
  >`
}
