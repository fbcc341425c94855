// Reads spans that a job has written into artifacts, at the configured paths, with one request for each. Most jobs have no such file, which is no
// error.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSpanCollector, type SpanCounts } from '../platform/reports/own-spans.ts'
import { splitSpans, type OwnAttributes, type OwnSpan, type OwnValue } from '../model/own-span.ts'
import { ownerOf } from './read-log.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { longestSecret } from './clean-tests.ts'
import type { Chunk } from '../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { RedactText } from '../platform/text-redaction.ts'
import type { ReportFaultReason } from '../model/test-report.ts'

/** Most elements of an attribute whose value is a list. */
const mostValues = 64
/** Spans that are redacted before other work of this thread gets its turn. */
const atOnce = 50

export interface SpanReadingOptions {
  readonly client: Pick<PlatformClient, 'jobArtifactFile'>
  readonly paths: readonly string[]
  /** Ids in this trace that a job's own spans must not reuse: of the pipeline, its trigger and its jobs. */
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
    return { as: 'read', insides: splitSpans(spans).map(ownSpans => ({ job: ownerOf(job), ownSpans })) }
  }
  return { read, counters }
}

/** Swallows the error if only the file is missing. A missing project or endpoint is passed on. */
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
  // Redacted with its key: in `db.password=kettle` only the key shows that the value is a secret.
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
