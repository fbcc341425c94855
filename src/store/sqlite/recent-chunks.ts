// The chunks that were just written, until they are counted for the figures over time some seconds later: reading their run back, with all its jobs,
// takes several times as long as counting them. What is not here any more is read.
import type { Chunk } from '../../model/chunk.ts'

export interface RecentChunks {
  /** After the commit. `run`: the id of its row. */
  remember(run: number, chunk: Chunk): void
  /** Returns it once; undefined if it is not here. */
  take(run: number, attempt: number, number: number): Chunk | undefined
}

/** Chunks of twenty jobs take some 12 KB each. */
const maxChunks = 1_000
/** Larger ones, by their jobs, would displace all others. */
const maxJobs = 100

export function createRecentChunks(): RecentChunks {
  const recent = new Map<string, Chunk>()
  return {
    remember: (run, chunk) => {
      const name = nameOf(run, chunk.attempt, chunk.number)
      recent.delete(name)
      if (chunk.jobs.length > maxJobs) return
      recent.set(name, chunk)
      const [oldest] = recent.keys()
      if (recent.size > maxChunks && oldest !== undefined) recent.delete(oldest)
    },
    take: (run, attempt, number) => {
      const name = nameOf(run, attempt, number)
      const chunk = recent.get(name)
      recent.delete(name)
      return chunk
    },
  }
}

function nameOf(run: number, attempt: number, number: number): string {
  return `${run} ${attempt} ${number}`
}
