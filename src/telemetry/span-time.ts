// The times a span may have: never the epoch, never an end before the start, never beyond what OTLP can carry.
import type { Chunk, JobSnapshot } from '../model/chunk.ts'
import type { Millis } from '../model/instant.ts'

export interface SpanTimes {
  readonly start: Millis
  readonly end: Millis
}

/** 2^63 nanoseconds after the epoch, in the year 2262: OTLP could say more, signed backends could not. */
const lastInstant = 9_223_372_036_854

/** When a pipeline's span starts and ends; undefined when no instant is known. */
export function pipelineTimes({ pipeline, jobs }: Chunk): SpanTimes | undefined {
  return spanTimes(pipeline.start, pipeline.end, () => [pipeline.createdAt, ...jobs.map(({ end }) => end)])
}

/** The jobs that can be placed in time, by start and id. */
export function timedJobs(chunk: Chunk): { readonly job: JobSnapshot; readonly times: SpanTimes }[] {
  const timed = []
  for (const job of chunk.jobs) {
    const times = jobTimes(chunk, job)
    if (times !== undefined) timed.push({ job, times })
  }
  return timed.sort((a, b) => a.times.start - b.times.start || a.job.id - b.job.id)
}

/** One that never ran starts and ends at its finish, else at the pipeline's. */
function jobTimes({ pipeline }: Chunk, job: JobSnapshot): SpanTimes | undefined {
  return spanTimes(job.start, job.end, () => [pipeline.finishedAt, pipeline.end, pipeline.start, pipeline.createdAt])
}

/**
 * A span's times from what is claimed. An instant that makes no sense is an unknown one: the start is then the end, and the
 * end the start; where neither is known, both are the first fallback that is. Undefined when nothing is known at all.
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

/** True for a time that a span may carry. */
export function isInstant(at: Millis | undefined): at is Millis {
  return at !== undefined && at >= 1 && at <= lastInstant
}
