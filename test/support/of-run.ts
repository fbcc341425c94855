// Outbox entries of tests that have runs alone.
import { isEvent } from '../../src/model/event.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { OutboxEntry } from '../../src/store/ports/outbox.ts'

export function chunkOfRun({ chunk }: Pick<OutboxEntry, 'chunk'>): Chunk {
  if (isEvent(chunk)) throw new Error('an event has no run')
  return chunk
}

export function pipelineIdOf(entry: Pick<OutboxEntry, 'chunk'>): number {
  return chunkOfRun(entry).key.pipelineId
}
