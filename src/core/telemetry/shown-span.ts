// Prepares a span for a page, with plain numbers. The attributes from the conventions are shown together with their legacy names.
import { jobAttributes } from './mapping/job.ts'
import { pipelineAttributes } from './mapping/pipeline.ts'
import { plainAttributes } from './otlp/attribute.ts'
import { spanKinds, statusCodes } from './otlp/messages.ts'
import { toSpans } from './traces.ts'
import { vendorPrefix } from './mapping/row.ts'
import type { Attributes } from '@opentelemetry/api'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { TelemetrySettings } from './settings.ts'

export interface ShownSpan {
  readonly name: string
  readonly kind: 'pipeline' | 'job'
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly start: Millis
  readonly end: Millis
  readonly status: 'ok' | 'error' | 'unset'
  readonly attributes: Attributes
}

/** The spans of a chunk, as they are exported. */
export function shownSpans(chunk: Chunk, settings: TelemetrySettings): ShownSpan[] {
  return toSpans(chunk, settings).map(span => ({
    name: span.name,
    kind: span.kind === spanKinds.pipeline ? 'pipeline' : 'job',
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    start: span.startTimeUnixNano,
    end: span.endTimeUnixNano,
    status: statusWord(span.status.code),
    attributes: plainAttributes(span.attributes),
  }))
}

function statusWord(code: number): ShownSpan['status'] {
  if (code === statusCodes.ok) return 'ok'
  return code === statusCodes.error ? 'error' : 'unset'
}

/** Matches attribute names that are older than the semantic conventions for pipelines. */
export const legacy = /^(?:pipeline|job)\./

const legacyOf: Readonly<Record<ShownSpan['kind'], ReadonlyMap<string, string>>> = {
  pipeline: paired(pipelineAttributes),
  job: paired(jobAttributes),
}

function paired(rows: readonly { readonly keys: readonly [string, ...string[]] }[]): Map<string, string> {
  return new Map(
    rows.flatMap(({ keys: [first, ...others] }) =>
      legacy.test(first) ? others.map(name => [name, first] as const) : [],
    ),
  )
}

/** The legacy attribute with the same value as a given span attribute, in any vendor's namespace; undefined if there is none. */
export function legacyNameOf(kind: ShownSpan['kind'], name: string): string | undefined {
  return legacyOf[kind].get(name) ?? legacyOf[kind].get(name.replace(/^[^.]+\./, vendorPrefix))
}
