// Reads the spans that a job has written into its artifacts, and counts them.
import { countIn, type InsideCounters } from './counts.ts'
import { splitSpans } from '../../model/own-span.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { ReadSpans } from '../../platform/port/inside.ts'
import type { Run } from '../../model/run.ts'
import type { Runs } from '../../core/store/ports/runs.ts'

export interface SpanReadingOptions {
  /** Reads the spans in a job's artifacts; undefined if no artifact paths are configured. */
  readonly readSpans: ReadSpans | undefined
  /** Returns the ids that a job's own spans must not use, because Pipespan derives them for the spans of the run. */
  readonly spanIds: (chunk: Chunk, run: Run | undefined, jobId: number) => Iterable<string>
  readonly runs: Pick<Runs, 'get'>
  readonly counters: Pick<InsideCounters, 'spans' | 'spanFiles'>
  /** Called if a span file cannot be read, to log the problem. */
  readonly onFault: (what: string, facts: Readonly<Record<string, string | number>>) => void
}

export function createSpanReading({ readSpans, spanIds, runs, counters, onFault }: SpanReadingOptions): JobReading {
  return async ({ chunk }, job, call) => {
    if (readSpans === undefined) return { as: 'needless' }
    const { id: project, path: name } = chunk.project
    const takenIds = async (): Promise<Iterable<string>> => spanIds(chunk, (await runs.get(chunk.key))?.run, job.id)
    const { spans, counts, files } = await readSpans(project, job, takenIds, call)
    for (const { path, fault } of files) {
      const reason = fault?.reason ?? 'none'
      countIn(counters.spanFiles, reason)
      if (fault !== undefined) onFault(fault.message, { path, job: job.id, project: name ?? project, reason })
    }
    for (const key of ['kept', 'invalid', 'misplaced', 'repeated', 'beyond'] as const)
      counters.spans[key] += counts[key]
    return { as: 'read', insides: splitSpans(spans).map(ownSpans => ({ job: insideJobOf(job), ownSpans })) }
  }
}
