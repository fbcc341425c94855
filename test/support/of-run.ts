// Helpers for tests of the outbox: they decode the entries of runs, and mark all due entries as delivered.
import { isEvent, type AnyChunk } from '../../src/model/event.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { ExportQueue, OutboxEntry } from '../../src/core/store/ports/outbox.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

/** Returns the chunk or event in an entry from a store that was opened by `stores.ts`. */
export function chunkOf({ body }: Pick<OutboxEntry, 'body'>): AnyChunk {
  return JSON.parse(Buffer.from(body).toString()) as AnyChunk
}

export function chunkOfRun(entry: Pick<OutboxEntry, 'body'>): Chunk {
  const chunk = chunkOf(entry)
  if (isEvent(chunk)) throw new Error('an event has no run')
  return chunk
}

export function pipelineIdOf(entry: Pick<OutboxEntry, 'body'>): number {
  return chunkOfRun(entry).key.pipelineId
}

/** Marks all due entries of the queue as delivered. Resolves to these entries. */
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
