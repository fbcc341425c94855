// Figures over time that are gathered in memory until they are stored.
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { day, t0 } from '../flow/world.ts'
import { failed, observe, takeSnapshot } from './exported-run.ts'
import { gatherFigures } from '../../src/core/store/read-models/gathered-figures.ts'
import { hour } from '../../src/core/store/ports/trends.ts'
import { openSqlite, openSqliteShared } from '../support/stores.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

const options = { now: () => t0 + day, maxSize: 2 ** 30 }

async function figuresOf(store: Store): Promise<unknown> {
  const { trends } = store.views
  while ((await trends.takeIn(10)) > 0);
  return trends.series({}, { step: hour, since: 0, until: t0 + 2 * day })
}

it('are the same as those of a run that is read after a start', async () => {
  const figures = await Promise.all(
    [false, true].map(async restarts => {
      const file = path.join(temporaryFolder(), 'pipespan.db')
      let store = openSqlite(file, options)
      await store.views.trends.takeIn(1)
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

it('are counted once if another process has counted some of their chunks meanwhile', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const store = closeAfterTest(openSqlite(file, options))
  await store.views.trends.takeIn(1)
  await observe(store, failed())
  await takeSnapshot(store)
  const other = closeAfterTest(openSqliteShared(file, options))
  expect(await other.views.trends.takeIn(10)).toBe(1)
  expect(await figuresOf(store)).toMatchObject([{ runs: 1 }])
})

it('wait until their first chunk is old enough, and not where memory is short', () => {
  let now = 0
  const gathered = gatherFigures(7, () => now)
  const chunk = (projectId: number): Chunk =>
    ({
      key: { instance: 'https://git.example.com', pipelineId: 1 },
      ...{ attempt: 1, number: 1, project: { id: projectId, path: 'a/b' } },
      pipeline: { facts: { status: 'success', ref: 'main' }, end: t0, start: t0 },
      jobs: [{ id: 1, kind: 'job', name: 'unit', status: 'success', startedAt: t0, start: t0, end: t0 + 5_000 }],
    }) as never
  expect(gathered.keptBy(chunk(1))).toBe(0)
  gathered.start()
  expect(gathered.keptBy(chunk(1))).toBe(7)
  gathered.add([chunk(1), chunk(1)])
  now = 4_000
  gathered.add([chunk(2)])
  now = 5_000
  const due = gathered.due(5_000, 100)
  expect(due).toMatchObject([{ projectId: 1, chunks: 2 }])
  gathered.forget(due)
  expect(gathered.due(5_000, 100)).toEqual([])
  gathered.add(Array.from({ length: 13_000 }, (_, at) => chunk(3 + at)))
  expect(gathered.keptBy(chunk(3))).toBe(0)
  expect(gathered.due(5_000, 2)).toMatchObject([{ projectId: 2 }, { projectId: 3 }])
})
