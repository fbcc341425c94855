// Computes the start and end of spans. A span's time is never the epoch and never beyond what backends can store, and its end is never before its
// start.
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'

export interface SpanTimes {
  readonly start: Millis
  readonly end: Millis
}

/**
 * The latest time that a span may have, ms: 2^63 nanoseconds after the epoch, in the year 2262. Backends that use signed integers cannot store
 * anything later.
 */
const lastInstant = 9_223_372_036_854

/** The start and end of a pipeline's span; undefined if no time is known. */
export function pipelineTimes({ pipeline, jobs }: Chunk): SpanTimes | undefined {
  return spanTimes(pipeline.start, pipeline.end, () => [pipeline.createdAt, ...jobs.map(({ end }) => end)])
}

/** The jobs that have a known time, sorted by start and ID. */
export function timedJobs(chunk: Chunk): { readonly job: JobSnapshot; readonly times: SpanTimes }[] {
  const timed = []
  for (const job of chunk.jobs) {
    const times = jobTimes(chunk, job)
    if (times !== undefined) timed.push({ job, times })
  }
  return timed.sort((a, b) => a.times.start - b.times.start || a.job.id - b.job.id)
}

/** The times of a job's span. A job that never ran starts and ends at its finish; if that is unknown, at the pipeline's finish. */
function jobTimes({ pipeline }: Chunk, job: JobSnapshot): SpanTimes | undefined {
  return spanTimes(job.start, job.end, () => [pipeline.finishedAt, pipeline.end, pipeline.start, pipeline.createdAt])
}

/**
 * The start and end of a span. Implausible times are treated as unknown. If only the start or only the end is known, it is used for both. If neither
 * is known, the first known fallback is used for both. Undefined if no time is known.
 */
function spanTimes(
  start: Millis | undefined,
  end: Millis | undefined,
  fallbacks: () => readonly (Millis | undefined)[],
): SpanTimes | undefined {
  const from = isInstant(start) ? start : isInstant(end) ? end : fallbacks().find(isInstant)
  if (from === undefined) return undefined
  const first = Math.round(from)
  return { start: first, end: isInstant(end) ? Math.max(first, Math.round(end)) : first }
}

/** True if both times of a span are plausible. */
export function isTimed({ start, end }: SpanTimes): boolean {
  return isInstant(start) && isInstant(end)
}

/** True for a plausible time: it is known, after the epoch, and not after `lastInstant`. */
export function isInstant(at: Millis | undefined): at is Millis {
  return at !== undefined && at >= 1 && at <= lastInstant
}
