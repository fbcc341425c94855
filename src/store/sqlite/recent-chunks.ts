// Chunks of snapshots that were taken a moment ago, still in memory: they are sent, and counted for the figures over time, right after
// they were written, and reading a chunk back takes as long as mapping it. Only what is committed is remembered: an id that was
// rolled back is given to another chunk. And only for a moment: so is the id of one that was pruned.
import { isEvent, type AnyChunk } from '../../model/event.ts'
import type { Chunk } from '../../model/chunk.ts'

export interface RecentChunk {
  readonly id: number
  readonly chunk: AnyChunk
  /** Length of its JSON. */
  readonly size: number
}

export interface RecentChunks {
  /** After the commit. */
  remember(chunks: readonly RecentChunk[]): void
  /** The chunk of that id; undefined when it must be read. */
  recall(id: number): RecentChunk | undefined
  /** The same of a run. */
  recallOfRun(id: number): Chunk | undefined
}

/** JSON of all that is remembered, UTF-16 units: some 600 chunks of twenty jobs, and three times as much in memory. */
export const mostText = 8 * 1024 * 1024
/** A chunk of a large pipeline, UTF-16 units: it is read back, as a few of them would take the place, and the memory, of all others. */
const largest = 128 * 1024
const believedMs = 60_000

export function createRecentChunks(now: () => number): RecentChunks {
  const recent = new Map<number, RecentChunk & { readonly until: number }>()
  let text = 0
  function forget(id: number): void {
    text -= recent.get(id)?.size ?? 0
    recent.delete(id)
  }
  const recall: RecentChunks['recall'] = id => {
    const found = recent.get(id)
    if (found === undefined) return undefined
    if (found.until > now()) return found
    forget(id)
    return undefined
  }
  return {
    remember: chunks => {
      for (const one of chunks) {
        forget(one.id)
        if (one.size > largest) continue
        recent.set(one.id, { ...one, until: now() + believedMs })
        text += one.size
      }
      for (const id of recent.keys()) {
        if (text <= mostText) return
        forget(id)
      }
    },
    recall,
    recallOfRun: id => {
      const chunk = recall(id)?.chunk
      return chunk === undefined || isEvent(chunk) ? undefined : chunk
    },
  }
}

/** How many of them, from the newest on, have so much text together. */
export function newestWorth(text: number, chunks: readonly RecentChunk[]): number {
  let left = text
  for (let count = 0; count < chunks.length; count += 1) {
    left -= chunks[chunks.length - 1 - count]?.size ?? 0
    if (left < 0) return count
  }
  return chunks.length
}
