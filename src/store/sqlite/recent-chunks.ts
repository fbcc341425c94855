// A cache of chunks that were just written: they are sent, and counted for trends, right afterwards, and reading one back takes as long as
// mapping it. A pipeline's chunk is dropped after its last expected use; a later use reads the store. Only committed chunks are
// cached, for a minute and until they are pruned, because SQLite reuses the ids of the newest.
import { isEvent, type AnyChunk } from '../../model/event.ts'
import type { Chunk } from '../../model/chunk.ts'

export interface RecentChunk {
  readonly id: number
  readonly chunk: AnyChunk
  /** Length of its stored text. */
  readonly size: number
  /** How often it will be used: once for each outbox entry, once for the figures over time. Undefined, as for events: not known. */
  readonly takes?: number
}

export interface RecentChunks {
  /** After the commit. */
  remember(chunks: readonly RecentChunk[]): void
  /** Undefined if it is not cached. */
  recall(id: number): RecentChunk | undefined
  /** The same for a chunk of a run. */
  readonly recallOfRun: (id: number) => Chunk | undefined
  /** Returns it and decrements its remaining uses; it is dropped after the last. An entry that is sent again counts again. */
  take(id: number): RecentChunk | undefined
  /** The same for a chunk of a run. */
  readonly takeOfRun: (id: number) => Chunk | undefined
  /** After the commit that deleted all chunks with greater ids. */
  forgetAfter(id: number): void
}

/** UTF-16 units of stored text in the cache: some 600 chunks of twenty jobs, which take twice as much in memory. */
export const maxText = 4 * 1024 * 1024
/** Larger chunks, in UTF-16 units, are not cached: a few of them would displace all others. */
const largest = 64 * 1024
const believedMs = 60_000

export function createRecentChunks(now: () => number): RecentChunks {
  const recent = new Map<number, { readonly one: RecentChunk; readonly until: number; takesLeft: number }>()
  let text = 0
  function forget(id: number): void {
    text -= recent.get(id)?.one.size ?? 0
    recent.delete(id)
  }
  const recall: RecentChunks['recall'] = id => {
    const found = recent.get(id)
    if (found === undefined) return undefined
    if (found.until > now()) return found.one
    forget(id)
    return undefined
  }
  const take: RecentChunks['take'] = id => {
    const one = recall(id)
    const found = recent.get(id)
    if (found !== undefined && (found.takesLeft -= 1) === 0) forget(id)
    return one
  }
  return {
    remember: chunks => {
      for (const one of chunks) {
        forget(one.id)
        if (one.size > largest) continue
        recent.set(one.id, { one, until: now() + believedMs, takesLeft: one.takes ?? Infinity })
        text += one.size
      }
      for (const id of recent.keys()) {
        if (text <= maxText) return
        forget(id)
      }
    },
    recall,
    recallOfRun: id => ofRun(recall(id)),
    take,
    takeOfRun: id => ofRun(take(id)),
    forgetAfter: last => {
      for (const id of recent.keys()) if (id > last) forget(id)
    },
  }
}

function ofRun(one: RecentChunk | undefined): Chunk | undefined {
  return one === undefined || isEvent(one.chunk) ? undefined : one.chunk
}

/** How many of the newest chunks have `text` UTF-16 units together, at most. */
export function newestWorth(text: number, chunks: readonly RecentChunk[]): number {
  let left = text
  for (let count = 0; count < chunks.length; count += 1) {
    left -= chunks[chunks.length - 1 - count]?.size ?? 0
    if (left < 0) return count
  }
  return chunks.length
}
