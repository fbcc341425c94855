// A database whose clock is far from this host's: how long something takes or waits is reckoned by one of them, never by both.
import { describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, event, instance, job, rules, snapshotterWith, settlerOf } from '../../flow/world.ts'
import type { createSnapshotter } from '../../../src/core/settle/take-snapshots.ts'
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

function ended(pipelineId: number, settle: number): RunWork[] {
  const jobs = [job(1, 'build', 'success', { started: 5, finished: 50 })]
  return mergeObservations([event('success', { finishedAt: at(60) }, jobs, {}, pipelineId)], 'webhook', {
    ...rules,
    settle,
  })
}

function snapshotterOf(settle: number): ReturnType<typeof createSnapshotter> {
  return snapshotterWith({ rules: { ...rules, settle, deadline: 0 } })
}

describe.each([
  ['behind', -hour],
  ['ahead of', hour],
])("with a database whose clock is %s this host's", (_, shift) => {
  it('the settle loop sleeps until a run is due, and queries no more often', async () => {
    const store = await openShifted(shift)
    const settle = 900
    let looks = 0
    let pauses: number[] = []
    const settler = settlerOf(store, {
      runs: {
        ...store.runs,
        takeDue: async (...args) => {
          looks += 1
          return store.runs.takeDue(...args)
        },
      },
      snapshotter: snapshotterOf(settle),
      clock: {
        ...systemClock,
        sleep: async (ms, signal) => {
          pauses.push(ms)
          return systemClock.sleep(ms, signal)
        },
      },
    })
    settler.start()
    onTestFinished(async () => settler.stop())
    let pipelineId = 0
    const settled = async (): Promise<{ looks: number; first: number | undefined }> => {
      pipelineId += 1
      await store.runs.transact(ended(pipelineId, settle))
      looks = 0
      pauses = []
      settler.wake()
      const hasSnapshot = async (): Promise<boolean> =>
        ((await store.runs.get({ instance, pipelineId }))?.run.attempts.length ?? 0) > 0
      await expect.poll(hasSnapshot).toBe(true)
      return { looks, first: pauses[0] }
    }
    // One look before it was due, perhaps another that came a moment too early, and one that took its snapshot. On a busy machine it may be due
    // before the first look: then another one is tried.
    await expect
      .poll(settled)
      .toSatisfy(
        ({ looks: all, first = 0 }: Awaited<ReturnType<typeof settled>>) => all < 6 && first > 0 && first <= settle,
      )
  })

  it('a delayed export is due when its pause is over, neither at once nor an hour later', async () => {
    const store = await openShifted(shift)
    await store.runs.transact(ended(7, 0).map(work => snapshotterOf(0).atOnce(work, [])))
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

  it('runs are pruned after their retention, neither an hour earlier nor later', async () => {
    const store = await openShifted(shift)
    await store.runs.transact(ended(7, 0).map(work => snapshotterOf(0).atOnce(work, [])))
    const { token, items } = await store.outbox.lease(exportQueue, 10, 90_000)
    await store.outbox.settle(
      token,
      items.map(({ id }) => ({ id, as: 'delivered' as const })),
    )
    const round = async (retention: number): Promise<void> => {
      let rounds = 0
      const maintenance = createMaintenance({
        ...{
          store,
          served: [exportQueue],
          retention,
          remember: 400 * 24 * hour,
          keepFigures: 400 * 24 * hour,
          log: silentLog(),
        },
        // Resting means that a round is over.
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
