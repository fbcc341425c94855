// Outbox entries as tests take them: delivered at once, and those of runs.
import { isEvent } from '../../src/model/event.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { ExportQueue, OutboxEntry } from '../../src/store/ports/outbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

export function chunkOfRun({ chunk }: Pick<OutboxEntry, 'chunk'>): Chunk {
  if (isEvent(chunk)) throw new Error('an event has no run')
  return chunk
}

export function pipelineIdOf(entry: Pick<OutboxEntry, 'chunk'>): number {
  return chunkOfRun(entry).key.pipelineId
}

/** All entries of the queue that are due, which are delivered then. */
export async function deliver(
  { outbox }: Pick<Store, 'outbox'>,
  queue: ExportQueue = { destination: 'default', signal: 'traces' },
): Promise<readonly OutboxEntry[]> {
  const { token, items } = await outbox.lease(queue, 100_000, 60_000)
  await outbox.settle(
    token,
    items.map(({ id }) => ({ id, as: 'delivered' as const })),
  )
  return items
}
