// Reads spans that a job has written into artifacts, and counts what was found.
import { splitSpans } from '../../model/own-span.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobReading } from './job-reading.ts'
import type { ReadSpans, SpanCounts } from '../../platform/port/inside.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'
import type { Run } from '../../model/run.ts'
import type { Runs } from '../../core/store/ports/runs.ts'

export interface SpanReadingOptions {
  /** Undefined: no paths are configured. */
  readonly readSpans: ReadSpans | undefined
  /** Ids that a job's own spans must not have: those that we derive for spans of the run. */
  readonly spanIds: (chunk: Chunk, run: Run | undefined, jobId: number) => Iterable<string>
  readonly runs: Pick<Runs, 'get'>
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

export function createSpanReading({ readSpans, spanIds, runs, onFault }: SpanReadingOptions): SpanReading {
  const counters: SpanCounters = { files: new Map(), kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }
  const read: JobReading = async ({ chunk }, job, call) => {
    if (readSpans === undefined) return { as: 'needless' }
    const { id: project, path: name } = chunk.project
    const takenIds = async (): Promise<Iterable<string>> => spanIds(chunk, (await runs.get(chunk.key))?.run, job.id)
    const { spans, counts, files } = await readSpans(project, job, takenIds, call)
    for (const { path, fault } of files) {
      const reason = fault?.reason ?? 'none'
      counters.files.set(reason, (counters.files.get(reason) ?? 0) + 1)
      if (fault !== undefined) onFault(fault.message, { path, job: job.id, project: name ?? project, reason })
    }
    for (const key of ['kept', 'invalid', 'misplaced', 'repeated', 'beyond'] as const) counters[key] += counts[key]
    return { as: 'read', insides: splitSpans(spans).map(ownSpans => ({ job: insideJobOf(job), ownSpans })) }
  }
  return { read, counters }
}
