// Reads the spans that a job wrote to its artifacts, with one request per configured path.
import { createSpanCollector } from './own-spans.ts'
import { PlatformError } from '../port.ts'
import { redactedTo, redactedValue, redactionTurns } from '../../lib/text-redaction.ts'
import type { OwnAttributes, OwnLink, OwnSpan, OwnValue } from '../../model/own-span.ts'
import type { InsideRules, ReadSpans, SpansRead } from '../port/inside.ts'
import type { JobCalls } from '../rest/jobs.ts'

/** Maximum length of a string in a span, UTF-16 units. It applies even if the configured limit is higher. */
const maxSpanText = 64 * 1024

export function createReadSpans(
  client: Pick<JobCalls, 'jobArtifact'>,
  { paths, redactText, maxText }: Pick<InsideRules, 'paths' | 'redactText' | 'maxText'>,
): ReadSpans {
  const limit = Math.min(maxText, maxSpanText)
  const clean: Clean = (text, key) =>
    redactedTo(limit, text, key === undefined ? redactText : one => redactedValue(key, one, redactText))
  return async (projectId, job, takenIds, call) => {
    const collector = createSpanCollector(job)
    const files: SpansRead['files'][number][] = []
    for (const path of paths) {
      const found = await client
        .jobArtifact(projectId, job.id, { path }, call, async body => ({
          fault: await collector.read(body, path.endsWith('.jsonl')),
        }))
        .catch(undefinedIfMissing)
      if (found !== undefined) files.push({ path, fault: found.fault })
    }
    if (collector.counts.kept > 0) await collector.withoutIds(await takenIds())
    const spans: OwnSpan[] = []
    const turn = redactionTurns()
    for (const span of collector.spans()) spans.push(await cleanSpan(span, clean, turn))
    return { spans, counts: collector.counts, files }
  }
}

/**
 * Handles the error of a request for a file. Returns undefined if only the file is missing. Rethrows the error if the project or the endpoint is
 * missing.
 */
function undefinedIfMissing(error: unknown): undefined {
  const isMissing = error instanceof PlatformError && error.kind === 'not-found' && !error.affectsAllRequests
  if (!isMissing || /project/i.test(error.detail ?? '')) throw error
}

/** Redacts a string and then truncates it. A value that has a key is redacted together with its key. */
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
