// Tests a database whose clock differs greatly from this host's. A duration is measured on one of the clocks, never across both.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, event, job, rules, snapshotterWith } from '../../flow/world.ts'
import { createMaintenance } from '../../../src/core/store/maintenance/maintenance.ts'
import { openPostgres } from '../../support/stores.ts'
import { newDatabase } from './new-database.ts'
import { shiftClock } from './postgres-server.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const minute = 60_000
const hour = 60 * minute
const exportQueue: ExportQueue = { destination: 'default', signal: 'traces' }

async function openShifted(ms: number): Promise<Store> {
  const url = await newDatabase()
  await shiftClock(url, ms)
  const store = closeAfterTest(await openPostgres(url, { maxSize: 2 ** 30 }))
  expect(Math.abs((await store.now()) - Date.now() - ms)).toBeLessThan(minute)
  return store
}

const snapshotter = snapshotterWith({ rules: { ...rules, settle: 0, deadline: 0 } })

function ended(pipelineId: number): RunWork[] {
  const jobs = [job(1, 'build', 'success', { started: 5, finished: 50 })]
  return mergeObservations([event('success', { finishedAt: at(60) }, jobs, {}, pipelineId)], 'webhook', {
    ...rules,
    settle: 0,
  }).map(work => snapshotter.atOnce(work, []))
}

describe.each([
  ['behind', -hour],
  ['ahead of', hour],
])("a database whose clock is %s this host's", (_, shift) => {
  it('sends a postponed export when its pause is over, neither at once nor an hour later', async () => {
    const store = await openShifted(shift)
    await store.runs.transact(ended(7))
    expect(await store.outbox.dueIn(exportQueue)).toBe(0)
    const { token, items } = await store.outbox.lease(exportQueue, 10, 90_000)
    expect(items).toHaveLength(1)
    const putOff = items.map(({ id }) => ({
      ...{ id, as: 'later' as const, forMs: 5 * minute, error: 'HTTP 503', counted: true },
    }))
    await store.outbox.settle(token, putOff)
    expect((await store.outbox.lease(exportQueue, 10, 90_000)).items).toEqual([])
    const wait = (await store.outbox.dueIn(exportQueue)) ?? 0
    expect(wait).toBeGreaterThan(minute)
    expect(wait).toBeLessThanOrEqual(5 * minute)
  })

  it('prunes runs after their retention, neither an hour too early nor an hour too late', async () => {
    const store = await openShifted(shift)
    await store.runs.transact(ended(7))
    const { token, items } = await store.outbox.lease(exportQueue, 10, 90_000)
    await store.outbox.settle(
      token,
      items.map(({ id }) => ({ id, as: 'delivered' as const })),
    )
    const round = async (retention: number): Promise<void> => {
      let rounds = 0
      const maintenance = createMaintenance({
        ...{ store, served: [exportQueue], log: silentLog() },
        ...{ retention, remember: 400 * 24 * hour, keepFigures: 400 * 24 * hour },
        // A maintenance round is complete when the maintenance pauses.
        clock: {
          ...systemClock,
          sleep: async (ms, signal) => {
            if (ms > 1_000) rounds += 1
            return systemClock.sleep(ms, signal)
          },
        },
      })
      maintenance.start()
      await expect.poll(() => rounds).toBeGreaterThan(0)
      await maintenance.stop()
    }
    await round(30 * minute)
    expect((await store.runs.count()).runs).toBe(1)
    const left = async (): Promise<number> => {
      await round(1)
      return (await store.runs.count()).runs
    }
    await expect.poll(left).toBe(0)
  })
})
