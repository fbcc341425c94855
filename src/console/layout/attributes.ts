// The exported attributes of a pipeline or a job: each with its name in the semantic conventions, its legacy name, and its value.
import { z } from 'zod'
import { card, empty, table } from './frame.ts'
import { counted, duration, quoted } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { millis, type Shaped } from './shape.ts'

/** A span in its exported form. */
export const exportedSpanShape = z.object({
  attempt: z.number(),
  name: z.string(),
  kind: z.enum(['pipeline', 'job']),
  jobId: z.number().optional(),
  traceId: z.string(),
  spanId: z.string(),
  start: millis,
  end: millis,
  attributes: z.record(z.string(), z.unknown()),
  resource: z.record(z.string(), z.unknown()),
})
export type ExportedSpan = Shaped<typeof exportedSpanShape>

/** Returns the legacy name of an attribute; undefined if it has none. */
export type LegacyName = (kind: ExportedSpan['kind'], name: string) => string | undefined

interface AttributeCard {
  readonly title: string
  readonly spans: readonly ExportedSpan[]
  /** The message shown if there are no spans. */
  readonly none: string
  readonly legacyName: LegacyName
  readonly aside?: Content
}

export function attributeCard({ title, spans, none, legacyName, aside }: AttributeCard): Html {
  const [first] = spans
  return card(
    title,
    html`${spans.length === 0 ? empty(none) : spans.map(span => spanAttributes(span, legacyName))}${first !== undefined && resource(first)}`,
    { id: 'attributes', aside },
  )
}

function spanAttributes(span: ExportedSpan, legacyName: LegacyName): Html {
  const { name, attempt, spanId, start, end, attributes, kind } = span
  return html`<details class="span-attributes">
    <summary>
      ${name}${attempt > 1 && html` <span class="tag">attempt ${attempt}</span>`}
      <span class="dim">${counted(Object.keys(attributes).length, 'attribute')}</span>
    </summary>
    <p class="dim">Span <code>${spanId}</code>, ${duration(end - start)}</p>
    ${attributeTable(`Attributes of ${name}, attempt ${attempt}`, attributes, name => legacyName(kind, name))}
  </details>`
}

function resource({ resource: attributes }: ExportedSpan): Html {
  return html`<details class="span-attributes">
    <summary>Resource <span class="dim">${counted(Object.keys(attributes).length, 'attribute')}</span></summary>
    ${attributeTable('Attributes of the resource', attributes)}
  </details>`
}

/**
 * Renders an attribute table with one row per value. An attribute that only has a vendor-specific name is listed in the semantic conventions column.
 */
export function attributeTable(
  label: string,
  attributes: Readonly<Record<string, unknown>>,
  legacyName: (name: string) => string | undefined = () => undefined,
): Html {
  const beside = new Map(
    Object.keys(attributes).flatMap(name => {
      const legacy = legacyName(name)
      return legacy !== undefined && Object.hasOwn(attributes, legacy) ? [[name, legacy] as const] : []
    }),
  )
  const shown = new Set(beside.values())
  const rows = Object.entries(attributes).flatMap(([name, value]) => {
    if (shown.has(name)) return []
    const isLegacy = /^(?:pipeline|job)\./.test(name)
    return [[code(isLegacy ? undefined : name), code(isLegacy ? name : beside.get(name)), quoted(valueOf(value))]]
  })
  return table(label, ['Convention', 'Legacy', 'Value'], rows, { css: 'stacked' })
}

function code(name: string | undefined): Content {
  return name === undefined ? '' : html`<code class="attribute">${name}</code>`
}

export function valueOf(value: unknown): Content {
  if (typeof value === 'string') return value === '' ? html`<span class="dim">empty</span>` : value
  return JSON.stringify(value)
}
