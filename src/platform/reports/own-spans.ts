// Reads the spans that a job wrote as OTLP/JSON. A file contains one export request, or one per line. Each span is validated and moved into the job's
// trace. A span whose parent is not among these spans becomes a child of the job's span.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { documentsOf, listOf, objectOf } from './json-documents.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { otlpSpan, type OtlpSpan } from './otlp-shapes.ts'
import { textOf } from './unpack.ts'
import type { SpanCounts } from '../port/inside.ts'
import type { Millis } from '../../model/instant.ts'
import type { OwnSpan } from '../../model/own-span.ts'

/** Limits for a job's own spans: bytes per file, spans per job, and attributes, events and links per span. */
const maxOfSpans = { bytes: 4 * 1024 * 1024, spans: 1_000, attributes: 64, events: 32, links: 32 } as const
/** Maximum number of spans of a job that are validated, including invalid ones. A file may contain millions. */
const maxChecked = 5_000
/** Maximum number of non-blank lines that are read from a file of spans. */
const maxLines = 20_000
/** Number of IDs that are looked up in one turn of the event loop. It is limited because the caller's iterator computes a hash for each ID. */
const idsPerTurn = 1_000
/** Maximum clock error assumed for the machine on which a job ran, ms. */
const tolerance = 3_600_000

export interface SpanCollector {
  /** Reads one file of spans. Returns the error that ended reading early, if any. Rejects only with an error from `source` itself. */
  read(source: AsyncIterable<Uint8Array>, isLines: boolean): Promise<ReportFault | undefined>
  readonly counts: Readonly<SpanCounts>
  /** Drops all spans that have one of the given IDs. */
  withoutIds(ids: Iterable<string>): Promise<void>
  spans(): OwnSpan[]
}

export interface SpanPlace {
  readonly start: Millis
  readonly end: Millis
}

export function createSpanCollector({ start, end }: SpanPlace): SpanCollector {
  const found = new Map<string, OtlpSpan>()
  const counts: SpanCounts = { kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }
  const isPlaced = (at: Millis): boolean => at >= start - tolerance && at <= end + tolerance

  let checked = 0

  function check(item: unknown): void {
    checked += 1
    const { data: span } = otlpSpan.safeParse(withinCaps(item))
    if (span === undefined) counts.invalid += 1
    else if (found.has(span.spanId)) counts.repeated += 1
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

  /** Reads one OTLP export request, which is a whole file or one line. Each span is validated in its own turn of the event loop. */
  async function readRequest(text: string): Promise<void> {
    const requests = documentsOf(text).map(one => objectOf(one).resourceSpans)
    if (!requests.some(Array.isArray))
      throw new ReportFault('foreign', 'The file is JSON, but not an OTLP export request with spans.')
    const scopes = requests.flatMap(listOf).flatMap(one => listOf(objectOf(one).scopeSpans))
    for (const item of scopes.flatMap(one => listOf(objectOf(one).spans))) {
      if (found.size >= maxOfSpans.spans || checked >= maxChecked) counts.beyond += 1
      else {
        check(item)
        await nextTurn()
      }
    }
  }

  /** An error in one line does not stop the other lines from being read. The first error is thrown after all lines have been read. */
  async function readLines(text: string): Promise<void> {
    const lines = text.split('\n').filter(line => line.trim() !== '')
    let first: ReportFault | undefined
    for (const line of lines.slice(0, maxLines)) {
      const fault = await faultOf(async () => readRequest(line))
      first ??= fault
      if (fault !== undefined) await nextTurn()
    }
    if (lines.length > maxLines) counts.beyond += 1
    if (first !== undefined) throw first
  }

  return {
    counts,
    read: async (source, isLines) => {
      let text = ''
      const ended = await faultOf(async () => {
        const caps = { packed: maxOfSpans.bytes, unpacked: maxOfSpans.bytes }
        for await (const window of textOf(source, caps)) text += window
      })
      // If a file is truncated, its complete lines are still read.
      if (isLines) return (await faultOf(async () => readLines(wholeLines(text, ended)))) ?? ended
      return ended ?? faultOf(async () => readRequest(text))
    },
    withoutIds: async ids => {
      let seen = 0
      for (const id of ids) {
        if (found.delete(id)) {
          counts.kept -= 1
          counts.repeated += 1
        }
        seen += 1
        if (seen % idsPerTurn === 0) await nextTurn()
      }
    },
    spans: () => {
      const traces = new Set([...found.values()].map(({ traceId }) => traceId))
      const parents = parentsOf(found)
      return [...found.values()].map(span => ownSpan(span, parents.get(span.spanId), traces))
    },
  }
}

function wholeLines(text: string, ended: ReportFault | undefined): string {
  return ended === undefined ? text : text.slice(0, text.lastIndexOf('\n') + 1)
}

const lists = [
  ['attributes', 'droppedAttributesCount', maxOfSpans.attributes],
  ['events', 'droppedEventsCount', maxOfSpans.events],
  ['links', 'droppedLinksCount', maxOfSpans.links],
] as const

/** The known fields of spans, events and links. Only these are copied, because an item may have any number of other fields. */
const fields = [...Object.keys(otlpSpan.shape), 'timeUnixNano']

/**
 * Truncates the lists of a span before it is validated, because validation is slow. Omitted items are added to the protocol's dropped-item counts.
 */
function withinCaps(item: unknown): unknown {
  if (typeof item !== 'object' || item === null) return item
  const cut = Object.fromEntries(fields.map(field => [field, (item as Record<string, unknown>)[field]]))
  for (const [list, dropped, max] of lists) {
    const all = cut[list]
    if (!Array.isArray(all)) continue
    cut[list] = all.slice(0, max).map(one => (list === 'attributes' ? (one as unknown) : withinCaps(one)))
    const before = Number.isSafeInteger(cut[dropped]) ? (cut[dropped] as number) : 0
    if (all.length > max) cut[dropped] = Math.max(0, before) + all.length - max
  }
  return cut
}

/** Returns the parent of each span whose parent is among these spans. A parent that would create a cycle is omitted. */
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
  return {
    ...{ id: spanId, parent, name, kind, start, end, status: status?.code ?? 0 },
    ...(status?.message !== undefined && { message: status.message }),
    attributes,
    events: events.map(({ timeUnixNano: at, name: event, attributes: own }) => ({ at, name: event, attributes: own })),
    links: links.map(({ traceId, spanId: to, attributes: own }) => ({
      // If a link points to one of the file's own traces, its trace ID is removed, so that it points to the pipeline's trace.
      ...(!traces.has(traceId) && { traceId }),
      ...{ spanId: to, attributes: own },
    })),
    dropped: {
      attributes: span.droppedAttributesCount ?? 0,
      events: span.droppedEventsCount ?? 0,
      links: span.droppedLinksCount ?? 0,
    },
  }
}
