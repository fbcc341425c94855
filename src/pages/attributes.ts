// What was exported of a pipeline, attribute by attribute: the pipeline's span, or the spans of one job.
import { card, empty, type Reader } from './frame.ts'
import { counted, duration } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { pipelineAddress } from './run-rows.ts'
import type { ExportedSpan } from './ports.ts'
import type { PipelineDetail } from './pipeline-detail.ts'

export function attributeList({ spans, pipeline }: PipelineDetail, { base, query }: Reader): Html {
  const chosen = Number(query.get('job'))
  const isJob = Number.isSafeInteger(chosen) && chosen > 0
  const shown = spans.filter(span => (isJob ? span.jobId === chosen : span.kind === 'pipeline'))
  const here = pipelineAddress(base, pipeline)
  const name = isJob ? (pipeline.jobs.find(job => job.id === chosen)?.name ?? String(chosen)) : undefined
  const none = isJob ? 'Nothing was exported of this job yet.' : 'Nothing was exported yet.'
  return card(
    name === undefined ? 'Exported attributes' : `Exported attributes of ${name}`,
    html`${shown.length === 0 ? empty(none) : shown.map(spanAttributes)}${shown[0] !== undefined && resource(shown[0])}`,
    {
      id: 'attributes',
      aside: isJob ? html`<a href="${here}#attributes">Of the pipeline</a>` : counted(spans.length, 'span'),
    },
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
