// The times of spans: never the epoch, never an end before the start, never beyond what backends can store.
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'

export interface SpanTimes {
  readonly start: Millis
  readonly end: Millis
}

/** 2^63 nanoseconds after the epoch, in the year 2262: the limit of backends with signed integers. */
const lastInstant = 9_223_372_036_854

/** When a pipeline's span starts and ends; undefined if no time is known. */
export function pipelineTimes({ pipeline, jobs }: Chunk): SpanTimes | undefined {
  return spanTimes(pipeline.start, pipeline.end, () => [pipeline.createdAt, ...jobs.map(({ end }) => end)])
}

/** The jobs with a known time, by start and id. */
export function timedJobs(chunk: Chunk): { readonly job: JobSnapshot; readonly times: SpanTimes }[] {
  const timed = []
  for (const job of chunk.jobs) {
    const times = jobTimes(chunk, job)
    if (times !== undefined) timed.push({ job, times })
  }
  return timed.sort((a, b) => a.times.start - b.times.start || a.job.id - b.job.id)
}

/** A job that never ran starts and ends at its finish, or else at the pipeline's. */
function jobTimes({ pipeline }: Chunk, job: JobSnapshot): SpanTimes | undefined {
  return spanTimes(job.start, job.end, () => [pipeline.finishedAt, pipeline.end, pipeline.start, pipeline.createdAt])
}

/**
 * A span's times. Implausible times count as unknown. If only one of start and end is known, both are that; if neither is, both are the first known
 * fallback. Undefined if no time is known.
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

/** True for a span whose times are both plausible. */
export function isTimed({ start, end }: SpanTimes): boolean {
  return isInstant(start) && isInstant(end)
}

/** True for a plausible time. */
export function isInstant(at: Millis | undefined): at is Millis {
  return at !== undefined && at >= 1 && at <= lastInstant
}
