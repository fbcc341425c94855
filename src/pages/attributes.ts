// What was exported of a pipeline or of a job, attribute by attribute.
import { card, empty } from './frame.ts'
import { duration } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import type { ExportedSpan } from './ports.ts'

/** `none`: what is said where there is no span. */
export function attributeCard(title: string, spans: readonly ExportedSpan[], none: string, aside?: Content): Html {
  const [first] = spans
  return card(
    title,
    html`${spans.length === 0 ? empty(none) : spans.map(spanAttributes)}${first !== undefined && resource(first)}`,
    { id: 'attributes', aside },
  )
}

function spanAttributes(span: ExportedSpan): Html {
  return html`<h3>${span.name}${span.attempt > 1 && html` <span class="tag">attempt ${span.attempt}</span>`}</h3>
    <p class="dim">Span <code>${span.spanId}</code>, ${duration(span.end - span.start)}</p>
    ${pairs(span.attributes)}`
}

function resource({ resource: attributes }: ExportedSpan): Html {
  return html`<details>
    <summary>Resource attributes</summary>
    ${pairs(attributes)}
  </details>`
}

function pairs(attributes: Readonly<Record<string, unknown>>): Html {
  return html`<dl class="attributes">
    ${Object.entries(attributes).map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${valueOf(value)}</dd>
        </div>`,
    )}
  </dl>`
}

export function valueOf(value: unknown): Content {
  if (typeof value === 'string') return value === '' ? html`<span class="dim">empty</span>` : value
  return JSON.stringify(value)
}
