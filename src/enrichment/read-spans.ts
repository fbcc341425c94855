// Reads spans that a job has written into artifacts, at the configured paths, with one request for each. Most jobs have no such file, which is no
// error.
import { createSpanCollector, type SpanCounts } from '../platform/reports/own-spans.ts'
import { splitSpans, type OwnAttributes, type OwnLink, type OwnSpan, type OwnValue } from '../model/own-span.ts'
import { insideJobOf } from '../model/inside-chunks.ts'
import { PlatformError } from '../platform/port.ts'
import type { RestClient } from '../platform/rest/client.ts'
import { redactedTo, redactedValue, redactionTurns, type RedactText } from '../platform/text-redaction.ts'
import type { Chunk } from '../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { ReportFaultReason } from '../model/test-report.ts'
import type { Run } from '../model/run.ts'
import type { Runs } from '../store/ports/runs.ts'

/** The longest text, whatever the configuration says, UTF-16 units. */
const maxText = 64 * 1024

export interface SpanReadingOptions {
  readonly client: Pick<RestClient, 'jobArtifactFile'>
  readonly paths: readonly string[]
  /** Ids that a job's own spans must not have: those that we derive for spans of the run. */
  readonly spanIds: (chunk: Chunk, run: Run | undefined, jobId: number) => Iterable<string>
  readonly runs: Pick<Runs, 'get'>
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
  const limit = Math.min(longestText, maxText)
  const clean: Clean = (text, key) =>
    redactedTo(limit, text, key === undefined ? redactText : one => redactedValue(key, one, redactText))
  const counters: SpanCounters = { files: new Map(), kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }

  const read: JobReading = async ({ chunk }, job, call) => {
    if (paths.length === 0) return { as: 'needless' }
    const { id: project, path: name } = chunk.project
    const collector = createSpanCollector(job)
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
    if (collector.counts.kept > 0) {
      const known = await options.runs.get(chunk.key)
      await collector.withoutIds(options.spanIds(chunk, known?.run, job.id))
    }
    for (const key of ['kept', 'invalid', 'misplaced', 'repeated', 'beyond'] as const) {
      counters[key] += collector.counts[key]
    }
    const spans: OwnSpan[] = []
    const turn = redactionTurns()
    for (const span of collector.spans()) spans.push(await cleanSpan(span, clean, turn))
    return { as: 'read', insides: splitSpans(spans).map(ownSpans => ({ job: insideJobOf(job), ownSpans })) }
  }
  return { read, counters }
}

/** Swallows the error if only the file is missing. A missing project or endpoint is passed on. */
function nothingThere(error: unknown): undefined {
  const isOfFile = error instanceof PlatformError && error.kind === 'not-found' && !error.isOfTheApi
  if (!isOfFile || /project/i.test(error.said ?? '')) throw error
}

/** Redacts a text, if it is a value with its key, and then cuts it. */
type Clean = (text: string, key?: string) => string

async function cleanSpan(span: OwnSpan, cleanOne: Clean, turn: (text: string) => Promise<void>): Promise<OwnSpan> {
  const { message } = span
  const text: (...one: Parameters<Clean>) => Promise<string> = async (one, key) => {
    await turn(one)
    return cleanOne(one, key)
  }
  const valueOf = async (key: string, value: OwnValue): Promise<OwnValue> => {
    if (typeof value === 'string') return text(value, key)
    if (!Array.isArray(value)) return value
    const values: string[] = []
    for (const one of value) values.push(await text(String(one), key))
    return values
  }
  const clean = async (attributes: OwnAttributes): Promise<OwnAttributes> => {
    const all: [string, OwnValue][] = []
    for (const [key, value] of attributes) all.push([await text(key), await valueOf(key, value)])
    return all
  }
  const events: NonNullable<OwnSpan['events']>[number][] = []
  for (const event of span.events ?? [])
    events.push({ ...event, name: await text(event.name), attributes: await clean(event.attributes) })
  const links: OwnLink[] = []
  for (const link of span.links ?? []) links.push({ ...link, attributes: await clean(link.attributes) })
  return {
    ...{ ...span, name: await text(span.name), attributes: await clean(span.attributes), events, links },
    ...(message !== undefined && { message: await text(message) }),
  }
}
