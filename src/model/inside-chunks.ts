// Makes chunks of what was read about the inside of a job; their numbers continue those of its attempt. Pure.
import type { Chunk } from './chunk.ts'
import type { JobInside } from './inside.ts'
import type { Run } from './run.ts'

/** The chunks, and the run with the attempt's new number of chunks; undefined if the run has no such attempt. */
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
