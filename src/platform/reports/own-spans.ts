// The spans that a job left among its artifacts in OTLP/JSON: one request, or one in each line. They are checked one by one, and become spans of the
// job's trace: those whose parent is not among them stand below the job itself.
import { faultOf, ReportFault } from './report-fault.ts'
import { otlpRequest, otlpSpan, type OtlpSpan } from './otlp-shapes.ts'
import { textOf } from './unpack.ts'
import type { Millis } from '../../model/instant.ts'
import type { OwnSpan } from '../../model/own-span.ts'

/** Of one file, bytes; of a job, spans; of a span, attributes, events and links. */
export const mostOfSpans = { bytes: 4 * 1024 * 1024, spans: 1_000, attributes: 64, events: 32, links: 32 } as const
/** The clock of a job's machine may be another one, ms. */
const tolerance = 3_600_000

export interface SpanCounts {
  kept: number
  /** No span by the protocol. */
  invalid: number
  /** Begins or ends more than an hour outside of the job, or ends before it begins. */
  misplaced: number
  /** Its id was another one's before, or is the job's. */
  repeated: number
  /** Beyond what a job may have. */
  beyond: number
}

export interface SpanCollector {
  /** Reads one file; answers why not all of it. Rejects only with what the source itself throws. */
  read(source: AsyncIterable<Uint8Array>, isLines: boolean): Promise<ReportFault | undefined>
  readonly counts: Readonly<SpanCounts>
  spans(): OwnSpan[]
}

export interface SpanPlace {
  readonly start: Millis
  readonly end: Millis
  /** The id of the job's span. */
  readonly jobSpanId: string
}

export function createSpanCollector({ start, end, jobSpanId }: SpanPlace): SpanCollector {
  const found = new Map<string, OtlpSpan>()
  const counts: SpanCounts = { kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }
  const isPlaced = (at: Millis): boolean => at >= start - tolerance && at <= end + tolerance

  function take(item: unknown): void {
    if (found.size >= mostOfSpans.spans) {
      counts.beyond += 1
      return
    }
    const { data: span } = otlpSpan.safeParse(item)
    if (span === undefined) counts.invalid += 1
    else if (found.has(span.spanId) || span.spanId === jobSpanId) counts.repeated += 1
    else if (
      !isPlaced(span.startTimeUnixNano) ||
      !isPlaced(span.endTimeUnixNano) ||
      span.endTimeUnixNano < span.startTimeUnixNano
    ) {
      counts.misplaced += 1
    } else {
      counts.kept += 1
      found.set(span.spanId, span)
    }
  }

  function takeRequest(text: string): void {
    const { data } = otlpRequest.safeParse(parsed(text))
    if (data === undefined) throw new ReportFault('foreign', 'It is JSON, and not OTLP with spans.')
    for (const { scopeSpans = [] } of data.resourceSpans) {
      for (const { spans = [] } of scopeSpans) spans.forEach(take)
    }
  }

  return {
    counts,
    read: async (source, isLines) =>
      faultOf(async () => {
        let text = ''
        for await (const part of textOf(source, { packed: mostOfSpans.bytes, unpacked: mostOfSpans.bytes }))
          text += part
        if (!isLines) {
          takeRequest(text)
          return
        }
        // A line that is wrong harms no other.
        let first: ReportFault | undefined
        for (const line of text.split('\n')) {
          if (line.trim() !== '') first ??= await faultOf(async () => takeRequest(line))
        }
        if (first !== undefined) throw first
      }),
    spans: () => {
      const traces = new Set([...found.values()].map(({ traceId }) => traceId))
      const parents = parentsOf(found)
      return [...found.values()].map(span => ownSpan(span, parents.get(span.spanId), traces))
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ReportFault('not_json', 'It is no JSON.')
  }
}

/** The parents that are there; where they go in a circle, it is opened. */
function parentsOf(found: ReadonlyMap<string, OtlpSpan>): Map<string, string> {
  const parents = new Map<string, string>()
  for (const { spanId, parentSpanId: parent } of found.values()) {
    if (parent === undefined || !found.has(parent)) continue
    let above: string | undefined = parent
    while (above !== undefined && above !== spanId) above = parents.get(above)
    if (above === undefined) parents.set(spanId, parent)
  }
  return parents
}

function ownSpan(span: OtlpSpan, parent: string | undefined, traces: ReadonlySet<string | undefined>): OwnSpan {
  const { spanId, name, kind, startTimeUnixNano: start, endTimeUnixNano: end, attributes, status } = span
  const { events = [], links = [] } = span
  const beyond = (list: readonly unknown[], most: number, before = 0): number =>
    before + Math.max(0, list.length - most)
  return {
    ...{ id: spanId, parent, name, kind, start, end, status: status?.code ?? 0 },
    ...(status?.message !== undefined && { message: status.message }),
    attributes: attributes.slice(0, mostOfSpans.attributes),
    events: events.slice(0, mostOfSpans.events).map(({ timeUnixNano: at, name: event, attributes: own }) => ({
      ...{ at, name: event, attributes: own.slice(0, mostOfSpans.attributes) },
    })),
    links: links.slice(0, mostOfSpans.links).map(({ traceId, spanId: to, attributes: own }) => ({
      // A trace of the job's own is the pipeline's now.
      ...(!traces.has(traceId) && { traceId }),
      ...{ spanId: to, attributes: own.slice(0, mostOfSpans.attributes) },
    })),
    dropped: {
      attributes: beyond(attributes, mostOfSpans.attributes, span.droppedAttributesCount),
      events: beyond(events, mostOfSpans.events, span.droppedEventsCount),
      links: beyond(links, mostOfSpans.links, span.droppedLinksCount),
    },
  }
}
