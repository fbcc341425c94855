// Reads the spans that a job made itself, at the paths among its artifacts that the operator names: one request a path. Of most jobs there is nothing at
// such a path, which is no fault.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSpanCollector, type SpanCounts } from '../platform/reports/own-spans.ts'
import { dividedSpans, type OwnAttributes, type OwnSpan, type OwnValue } from '../model/own-span.ts'
import { ownerOf } from './read-log.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { longestSecret } from './clean-tests.ts'
import type { Chunk } from '../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { RedactText } from '../platform/text-redaction.ts'
import type { ReportFaultReason } from '../model/test-report.ts'

/** Of a list that is an attribute's value. */
const mostValues = 64
/** Redacted without a pause: the daemon has other work. */
const atOnce = 50

export interface SpanReadingOptions {
  readonly client: Pick<PlatformClient, 'jobArtifactFile'>
  readonly paths: readonly string[]
  /** The ids of spans of the pipeline's trace that a job can know: its pipeline's, what started that, its jobs'. */
  readonly spanIds: (chunk: Chunk) => readonly string[]
  readonly redactText: RedactText
  /** Longest text that is exported, UTF-16 units. */
  readonly longestText: number
  /** Called with what cannot be read, for the log. */
  readonly onFault: (what: string, facts: Readonly<Record<string, string | number>>) => void
}

/** Counted since start. */
export interface SpanCounters extends SpanCounts {
  /** Files by why they could not be read to their end; `none` for whole ones. */
  readonly files: Map<ReportFaultReason | 'none', number>
}

export interface SpanReading {
  readonly read: JobReading
  readonly counters: Readonly<SpanCounters>
}

export function createSpanReading(options: SpanReadingOptions): SpanReading {
  const { client, paths, redactText, longestText, onFault } = options
  const clean: RedactText = text => redactText(text.slice(0, longestText + longestSecret))
  const counters: SpanCounters = { files: new Map(), kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }

  const read: JobReading = async ({ chunk }, job, call) => {
    if (paths.length === 0) return { as: 'needless' }
    const { id: project, path: name } = chunk.project
    const taken = new Set(options.spanIds(chunk))
    const collector = createSpanCollector({ ...job, isTaken: id => taken.has(id) })
    for (const path of paths) {
      const found = await client
        .jobArtifactFile(project, job.id, path, call, async body => ({
          fault: await collector.read(body, path.endsWith('.jsonl')),
        }))
        .catch(nothingThere)
      if (found === undefined) continue
      const { fault } = found
      const reason = fault?.reason ?? 'none'
      counters.files.set(reason, (counters.files.get(reason) ?? 0) + 1)
      if (fault !== undefined) onFault(fault.message, { path, job: job.id, project: name ?? project, reason })
    }
    for (const key of ['kept', 'invalid', 'misplaced', 'repeated', 'beyond'] as const) {
      counters[key] += collector.counts[key]
    }
    const spans: OwnSpan[] = []
    for (const span of collector.spans()) {
      spans.push(cleanSpan(span, clean))
      if (spans.length % atOnce === 0) await nextTurn()
    }
    return { as: 'read', insides: dividedSpans(spans).map(ownSpans => ({ job: ownerOf(job), ownSpans })) }
  }
  return { read, counters }
}

/** The job left no such file, or its artifacts are gone; what is said of the project, or of the API, is passed on. */
function nothingThere(error: unknown): undefined {
  const isOfFile = error instanceof PlatformError && error.kind === 'not-found' && !error.isOfTheApi
  if (!isOfFile || /project/i.test(error.said ?? '')) throw error
}

function cleanSpan(span: OwnSpan, redactText: RedactText): OwnSpan {
  const { events = [], links = [], message } = span
  const valueOf = (value: OwnValue): OwnValue => {
    if (typeof value === 'string') return redactText(value)
    return Array.isArray(value) ? value.slice(0, mostValues).map(one => redactText(String(one))) : value
  }
  // With its key: a value that has no shape of its own is known for a secret by what it is called.
  const clean = (attributes: OwnAttributes): OwnAttributes =>
    attributes.map(([key, value]) => [
      redactText(key),
      typeof value === 'string' ? redactText(`${key}=${value}`).slice(key.length + 1) : valueOf(value),
    ])
  return {
    ...span,
    name: redactText(span.name),
    ...(message !== undefined && { message: redactText(message) }),
    attributes: clean(span.attributes),
    events: events.map(event => ({ ...event, name: redactText(event.name), attributes: clean(event.attributes) })),
    links: links.map(link => ({ ...link, attributes: clean(link.attributes) })),
  }
}
