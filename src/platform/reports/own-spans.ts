// Reads spans that a job has written in OTLP/JSON: one request, or one in each line. Each span is checked and moved into the job's trace; those
// without a parent among them become children of the job's span.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { faultOf, ReportFault } from './report-fault.ts'
import { otlpSpan, type OtlpSpan } from './otlp-shapes.ts'
import { textOf } from './unpack.ts'
import type { Millis } from '../../model/instant.ts'
import type { OwnSpan } from '../../model/own-span.ts'

/** Limits: bytes of a file, spans of a job, and attributes, events and links of a span. */
const maxOfSpans = { bytes: 4 * 1024 * 1024, spans: 1_000, attributes: 64, events: 32, links: 32 } as const
/** Most items that are checked, valid or not: a file of only commas has a million. */
const mostLookedAt = 5_000
/** Attributes, events, links and spans that are checked before other work of this thread gets its turn. */
const atOnce = 2_000
/** Lines of a file that are read at most, blank ones too. */
const maxLines = 20_000
/** How far the clock of a job's machine may be off, ms. */
const tolerance = 3_600_000

export interface SpanCounts {
  kept: number
  /** Not a valid OTLP span. */
  invalid: number
  /** More than an hour outside of the job, or its end is before its start. */
  misplaced: number
  /** Its id is that of an earlier one, or one that we derive for a span of the run. */
  repeated: number
  /** Beyond the limit for a job. */
  beyond: number
}

export interface SpanCollector {
  /** Reads one file; answers the fault that ended it early. Rejects only with what the source itself throws. */
  read(source: AsyncIterable<Uint8Array>, isLines: boolean): Promise<ReportFault | undefined>
  readonly counts: Readonly<SpanCounts>
  /** Drops those with such an id. */
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

  let lookedAt = 0
  let since = 0
  /** Lets other work run after so much of ours. */
  const turn = async (work: number): Promise<void> => {
    since += work
    if (since < atOnce) return
    since = 0
    await nextTurn()
  }

  function take(item: unknown): void {
    lookedAt += 1
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

  async function takeRequest(text: string): Promise<void> {
    const resources = listIn(parsed(text), 'resourceSpans')
    if (resources === undefined) throw new ReportFault('foreign', 'It is JSON, and not OTLP with spans.')
    for (const resource of resources) {
      for (const scope of listIn(resource, 'scopeSpans') ?? []) {
        const spans = listIn(scope, 'spans') ?? []
        for (const [index, item] of spans.entries()) {
          if (found.size >= maxOfSpans.spans || lookedAt >= mostLookedAt) {
            counts.beyond += spans.length - index
            break
          }
          take(item)
          await turn(partsOf(item))
        }
      }
    }
  }

  return {
    counts,
    read: async (source, isLines) =>
      faultOf(async () => {
        let text = ''
        for await (const part of textOf(source, { packed: maxOfSpans.bytes, unpacked: maxOfSpans.bytes })) text += part
        if (!isLines) {
          await takeRequest(text)
          return
        }
        // A bad line does not affect the others.
        let first: ReportFault | undefined
        let lines = 0
        for (let from = 0; from < text.length && lines < maxLines; lines += 1) {
          const end = text.indexOf('\n', from)
          const line = text.slice(from, end < 0 ? text.length : end)
          from += line.length + 1
          await turn(1 + line.length / 100)
          if (line.trim() === '') continue
          const fault = await faultOf(async () => takeRequest(line))
          first ??= fault
        }
        if (lines >= maxLines) counts.beyond += 1
        if (first !== undefined) throw first
      }),
    withoutIds: async ids => {
      for (const id of ids) {
        if (found.delete(id)) {
          counts.kept -= 1
          counts.repeated += 1
        }
        await turn(1)
      }
    },
    spans: () => {
      const traces = new Set([...found.values()].map(({ traceId }) => traceId))
      const parents = parentsOf(found)
      return [...found.values()].map(span => ownSpan(span, parents.get(span.spanId), traces))
    },
  }
}

const lists = [
  ['attributes', 'droppedAttributesCount', maxOfSpans.attributes],
  ['events', 'droppedEventsCount', maxOfSpans.events],
  ['links', 'droppedLinksCount', maxOfSpans.links],
] as const

/** Limits the lists of a span before it is checked, because checking is slow. What is cut counts as dropped, as in the protocol. */
function withinCaps(item: unknown): unknown {
  if (typeof item !== 'object' || item === null) return item
  const cut: Record<string, unknown> = { ...item }
  for (const [list, dropped, most] of lists) {
    const all = cut[list]
    if (!Array.isArray(all)) continue
    cut[list] = all.slice(0, most).map(one => (list === 'attributes' ? (one as unknown) : withinCaps(one)))
    const before = Number.isSafeInteger(cut[dropped]) ? (cut[dropped] as number) : 0
    if (all.length > most) cut[dropped] = Math.max(0, before) + all.length - most
  }
  return cut
}

/** How much there is to check of a span. */
function partsOf(item: unknown): number {
  const parts = lists.flatMap(([list, , most]) => {
    const all = (item as Partial<Record<typeof list, unknown>> | null)?.[list]
    return Array.isArray(all) ? all.slice(0, most).map(one => 1 + attributesOf(one)) : []
  })
  return parts.reduce((sum, part) => sum + part, 1)
}

function attributesOf(item: unknown): number {
  const { attributes } = (item ?? {}) as { attributes?: unknown }
  return Array.isArray(attributes) ? Math.min(attributes.length, maxOfSpans.attributes) : 0
}

/** Without a zod shape, which takes a second for a list of a million. */
function listIn(item: unknown, key: 'resourceSpans' | 'scopeSpans' | 'spans'): readonly unknown[] | undefined {
  const list = (item as Partial<Record<typeof key, unknown>> | null | undefined)?.[key]
  return Array.isArray(list) ? list : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ReportFault('not_json', 'It is no JSON.')
  }
}

/** The parents among the spans; a cycle is broken. */
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
      // Links to the job's own trace now lead to the pipeline's.
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
