// Builds the chunks for job internals (sections, log lines, reports). Their numbers continue the numbering of the attempt's chunks. Pure.
import type { Chunk, JobSnapshot } from './chunk.ts'
import type { InsideJob, JobInside } from './inside.ts'
import type { Run } from './run.ts'

export function insideJobOf({ id, kind, name, start, end, status, salt }: JobSnapshot): InsideJob {
  return { id, kind, name, start, end, status, ...(salt !== undefined && { salt }) }
}

/**
 * The chunks for a job's internals, and the run with the attempt's new number of chunks. Undefined if the run has no attempt with the number in `of`.
 */
export function insideChunks(
  run: Run,
  of: Chunk,
  insides: readonly JobInside[],
): { readonly run: Run; readonly chunks: readonly Chunk[] } | undefined {
  const attempt = run.attempts.find(one => one.attempt === of.attempt)
  if (attempt === undefined) return undefined
  const { durations: _, ...pipeline } = of.pipeline
  const chunks = insides.map((inside, index): Chunk => ({
    ...of,
    ...{ kind: 'job', number: attempt.chunks + index + 1, pipeline, jobs: [], inside },
  }))
  const counted = { ...attempt, chunks: attempt.chunks + chunks.length }
  return { run: { ...run, attempts: run.attempts.map(one => (one === attempt ? counted : one)) }, chunks }
}
