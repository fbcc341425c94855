// Builds the chunks for the inside of a job (sections, log lines, reports). Their numbers continue the numbering of the attempt's chunks. Pure.
import type { Chunk, JobSnapshot } from './chunk.ts'
import type { InsideJob, JobInside } from './inside.ts'
import type { Run } from './run.ts'

export function insideJobOf({ id, kind, name, start, end, status, salt }: JobSnapshot): InsideJob {
  return { id, kind, name, start, end, status, ...(salt !== undefined && { salt }) }
}

/** The chunks of a job's inside, and the run with the new number of chunks in its attempt. Undefined if the run has no such attempt. */
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
