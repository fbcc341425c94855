// Tests that a large backlog is not recounted for every page and every scrape, but that a cached count is not used for long.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { manyRuns } from './many-runs.ts'
import { sqliteBench } from './benches.ts'
import { t0 } from '../../flow/world.ts'

it('counts a large export backlog periodically, and immediately after an operator has changed it', async () => {
  const bench = closeAfterTest(await sqliteBench())
  const store = await bench.open()
  const exportQueues = Array.from({ length: 300 }, (_, index) => {
    return { destination: `backend-${index}`, signal: 'traces' as const }
  })
  await manyRuns({ store, runs: 100, until: t0, exportQueues })
  const pending = async (): Promise<number> =>
    (await store.outbox.queues()).reduce((sum, queue) => sum + queue.pending, 0)
  expect(await pending()).toBe(30_000)
  expect((await store.outbox.queues())[0]?.oldest).toBe(bench.now())
  await bench.sql(`UPDATE outbox SET state = 'dead', settled_at = 1 WHERE destination = 'backend-7'`)
  await expect.poll(pending).toBe(29_900)
  await bench.sql(`UPDATE outbox SET state = 'dead', settled_at = 1 WHERE destination = 'backend-8'`)
  expect(await store.outbox.dropDead('all')).toBe(200)
  expect(await pending()).toBe(29_800)
})
