// Chunks are remembered for a moment: a shortcut, which must never answer with another chunk than the row has.
import { expect, it } from 'vitest'
import { createLeases } from '../../src/store/sqlite/leases.ts'
import { createRecentChunks } from '../../src/store/sqlite/recent-chunks.ts'
import { at, event, minute, rules, snapshotterWith } from '../flow/world.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { pipelineIdOf } from '../support/of-run.ts'
import { sqliteBench } from './benches.ts'
import type { Chunk } from '../../src/model/chunk.ts'

const chunk = (attempt: number): Chunk => ({ attempt }) as unknown as Chunk

it('returns recent chunks, and none after a minute', () => {
  let now = 0
  const recent = createRecentChunks(() => now)
  recent.remember([{ id: 1, chunk: chunk(1), size: 10 }])
  expect(recent.recall(1)?.chunk).toEqual(chunk(1))
  expect(recent.recall(2)).toBeUndefined()
  now = 60_001
  expect(recent.recall(1)).toBeUndefined()
})

it('returns the newest chunk of a reused number', () => {
  const recent = createRecentChunks(() => 0)
  recent.remember([{ id: 1, chunk: chunk(1), size: 10 }])
  recent.remember([{ id: 1, chunk: chunk(2), size: 10 }])
  expect(recent.recall(1)?.chunk).toEqual(chunk(2))
})

it('a chunk is dropped once each outbox entry and the figures over time have taken it; other reads do not count', () => {
  const recent = createRecentChunks(() => 0)
  recent.remember([
    { id: 1, chunk: chunk(1), size: 10, takes: 2 },
    { id: 2, chunk: chunk(2), size: 10 },
  ])
  expect([recent.recall(1), recent.recallOfRun(1)]).not.toContain(undefined)
  expect(recent.take(1)?.chunk).toEqual(chunk(1))
  expect(recent.takeOfRun(1)).toEqual(chunk(1))
  expect([recent.recall(1), recent.take(1)]).toEqual([undefined, undefined])
  for (let n = 0; n < 10; n += 1) expect(recent.take(2)?.chunk).toEqual(chunk(2))
})

it('frees the room of dropped chunks', () => {
  const recent = createRecentChunks(() => 0)
  recent.remember([{ id: 0, chunk: chunk(0), size: 64 * 1024 }])
  for (let id = 1; id <= 80; id += 1) {
    recent.remember([{ id, chunk: chunk(id), size: 64 * 1024, takes: 1 }])
    recent.take(id)
  }
  expect(recent.recall(0)?.chunk).toEqual(chunk(0))
})

it('keeps a few megabytes at most, and drops the oldest first', () => {
  const recent = createRecentChunks(() => 0)
  for (let id = 1; id <= 80; id += 1) recent.remember([{ id, chunk: chunk(id), size: 64 * 1024 }])
  const known = Array.from({ length: 80 }, (_, index) => index + 1).filter(id => recent.recall(id) !== undefined)
  expect(known).toEqual(Array.from({ length: 64 }, (_, index) => index + 17))
})

it('does not keep large chunks', () => {
  const recent = createRecentChunks(() => 0)
  recent.remember([
    { id: 1, chunk: chunk(1), size: 10 },
    { id: 2, chunk: chunk(2), size: 64 * 1024 + 1 },
  ])
  expect([recent.recall(1)?.chunk, recent.recall(2)]).toEqual([chunk(1), undefined])
})

it('sends what is stored, even if numbers are reused quickly', async () => {
  const bench = await sqliteBench()
  const store = await bench.open()
  const atOnce = { ...rules, settle: 0 }
  const queue = { destination: 'default', signal: 'traces' } as const
  const snapshotter = snapshotterWith({ rules: atOnce })
  const finish = async (ids: readonly number[], message: string): Promise<void> => {
    const observed = ids.map(id => event('success', { finishedAt: at(60) }, [], { commit: { message } }, id))
    await store.runs.transact(mergeObservations(observed, 'webhook', atOnce).map(work => snapshotter.atOnce(work, [])))
  }
  const sent = async (): Promise<number[]> => {
    const { token, items } = await store.outbox.lease(queue, 100, minute)
    const settled = items.map(({ id }) => ({ id, as: 'delivered' as const }))
    await store.outbox.settle(token, settled)
    return items.map(pipelineIdOf).sort((a, b) => a - b)
  }
  await finish([1], 'short')
  expect(await sent()).toEqual([1])
  // As in a full store, where all that was delivered is deleted at once.
  expect(await store.pruning.runs(bench.now() + 1, 10, undefined)).toMatchObject({ pruned: 1 })
  const others = Array.from({ length: 90 }, (_, index) => index + 2)
  await finish(others, 'x'.repeat(60_000))
  expect(await sent()).toEqual(others)
  await store.close()
  await bench.dispose()
})

it('releases due runs when they were processed or their lease expired', () => {
  const leases = createLeases()
  leases.lease(1, 100)
  leases.lease(2, 200)
  expect([leases.until(1), leases.until(3)]).toEqual([100, 0])
  expect(leases.nextFree()).toBe(100)
  leases.forget(1)
  expect([leases.until(1), leases.nextFree()]).toEqual([0, 200])
  leases.expire(200)
  expect([leases.size, leases.nextFree()]).toEqual([0, undefined])
})
