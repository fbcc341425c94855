// Chunks that are still in memory when they are counted for the figures over time.
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { createRecentChunks } from '../../src/store/sqlite/recent-chunks.ts'
import { day, t0 } from '../flow/world.ts'
import { failed, observe, takeSnapshot } from './exported-run.ts'
import { hour } from '../../src/store/ports/trends.ts'
import { openSqlite } from '../support/stores.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { Store } from '../../src/store/ports/store.ts'

const options = { now: () => t0 + day, maxSize: 2 ** 30 }

async function figuresOf(store: Store): Promise<unknown> {
  const { trends } = store.views
  while ((await trends.takeIn(10)) > 0);
  return trends.series({}, { step: hour, since: 0, until: t0 + 2 * day })
}

it('are counted as those that are read back after a start', async () => {
  const figures = await Promise.all(
    [false, true].map(async restarts => {
      const file = path.join(temporaryFolder(), 'pipespan.db')
      let store = openSqlite(file, options)
      await observe(store, failed())
      await takeSnapshot(store)
      if (restarts) {
        await store.close()
        store = openSqlite(file, options)
      }
      return figuresOf(closeAfterTest(store))
    }),
  )
  expect(figures[0]).toMatchObject([{ runs: 1 }])
  expect(figures[1]).toEqual(figures[0])
})

it('are returned once, at most a thousand of them, and no large ones', () => {
  const recent = createRecentChunks()
  const chunk = (number: number, jobs = 1): Chunk => ({ attempt: 1, number, jobs: Array(jobs).fill({}) }) as never
  recent.remember(1, chunk(1))
  expect(recent.take(1, 1, 1)).toEqual(chunk(1))
  expect(recent.take(1, 1, 1)).toBeUndefined()
  recent.remember(1, chunk(1, 101))
  expect(recent.take(1, 1, 1)).toBeUndefined()
  for (let run = 1; run <= 1_001; run += 1) recent.remember(run, chunk(1))
  expect([recent.take(1, 1, 1), recent.take(2, 1, 1)?.number]).toEqual([undefined, 1])
})
