// Tests how a store prunes runs, and what it retains about pruned runs. The tests run on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import * as exported from './exported-run.ts'
import { at, day, event, instance, job, minute, reported } from '../../flow/world.ts'
import { createMaintenance } from '../../../src/core/store/maintenance/maintenance.ts'
import { exportQueue, failed } from './exported-run.ts'
import { keep, takeKeys, undecodable } from './taking-in-exercise.ts'
import { opened, type Bench } from './benches.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const key = { instance, pipelineId: 7 }
const week = 7 * day

const retriedOf = (pipelineId: number): Observation =>
  event(
    'success',
    { finishedAt: at(300) },
    [
      job(1, 'build', 'failed', { started: 5, finished: 50 }),
      job(2, 'build', 'success', { created: 200, started: 210, finished: 290 }),
    ],
    {},
    pipelineId,
  )
const retried = retriedOf(7)

export function pruningExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`pruning on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => ({ here, store } = await opened(bench)))

    const observe = async (observation: Observation): Promise<void> => exported.observe(store, observation)
    const takeSnapshot = async (pipelineId = 7, to = exportQueue): Promise<Chunk[]> =>
      exported.takeSnapshot(store, pipelineId, to)
    const settle = async (as: 'delivered' | 'rejected'): Promise<void> => exported.settle(store, as)
    const prune = async (): Promise<number> => (await store.pruning.runs(here.now() - week, 100, undefined)).pruned

    it('keeps a run for the retention period after its snapshot, and keeps its pending exports until they are sent', async () => {
      await observe(failed())
      await takeSnapshot()
      here.move(week)
      expect(await prune()).toBe(0)
      here.move(1)
      expect(await prune()).toBe(1)
      expect(await store.runs.count()).toEqual({ runs: 0, onlyJobs: 0, open: 0 })
      expect(await store.outbox.queues()).toMatchObject([{ ...exportQueue, pending: 1 }])
      await settle('rejected')
      expect(await store.outbox.deadLetters(10)).toMatchObject([{ pipelineId: 7 }])
      expect(await store.outbox.retryDead('all')).toBe(1)
      await settle('delivered')
      expect(await store.outbox.queues()).toEqual([])
    })

    it('does not prune a run that is still due, however old it is', async () => {
      await observe(failed())
      here.move(30 * day)
      expect(await prune()).toBe(0)
    })

    it('removes dead letters after the retention period', async () => {
      await observe(failed())
      await takeSnapshot()
      await settle('rejected')
      here.move(week)
      expect(await store.pruning.deadLetters(here.now() - week, 10)).toBe(0)
      here.move(1)
      expect(await store.pruning.deadLetters(here.now() - week, 10)).toBe(1)
      expect(await store.outbox.deadLetters(10)).toEqual([])
    })

    it('prunes all runs that are not due, in several steps', async () => {
      for (let id = 1; id <= 9; id += 1) {
        await observe(failed(id))
        await takeSnapshot(id)
        if (id > 4) await settle('delivered')
        here.move(1)
      }
      // These runs are due again and are not pruned.
      for (let id = 1; id <= 4; id += 1) await observe(retriedOf(id))
      here.move(30 * day)
      let from: Parameters<Store['pruning']['runs']>[2]
      let pruned = 0
      let steps = 0
      do {
        const step = await store.pruning.runs(here.now() - week, 2, from)
        pruned += step.pruned
        from = step.next
        steps += 1
      } while (from !== undefined)
      expect({ pruned, steps }).toEqual({ pruned: 5, steps: 3 })
      expect(await store.runs.count()).toMatchObject({ runs: 4 })
    })

    it('does not export a pruned run again when it is observed again, but continues it with its next attempt', async () => {
      await observe(failed())
      await takeSnapshot()
      await settle('delivered')
      here.move(60 * day)
      expect(await store.pruning.runs(here.now() - week, 100, undefined)).toMatchObject({ pruned: 1, remembered: 1 })
      expect((await store.runs.get(key))?.run.attempts).toMatchObject([
        { attempt: 1, status: 'failed', finish: at(60) },
      ])
      await observe(failed())
      expect(await takeSnapshot()).toEqual([])
      expect((await store.runs.get(key))?.run.pipeline?.record.facts).toMatchObject({ status: 'failed', ref: 'main' })
      await observe(retried)
      expect(reported(await takeSnapshot())).toEqual(['attempt 2 success [2:success]'])
    })

    it('writes a tombstone for a run that is pruned a second time', async () => {
      for (const observation of [failed(), retried]) {
        await observe(observation)
        await takeSnapshot()
        await settle('delivered')
        here.move(60 * day)
        expect(await prune()).toBe(1)
      }
      expect((await store.runs.get(key))?.run.attempts.map(({ attempt }) => attempt)).toEqual([1, 2])
      await observe(retried)
      expect(await takeSnapshot()).toEqual([])
    })

    it("lets a child pipeline find the trace and the bridge of its pruned parent while the parent's tombstone is stored", async () => {
      const bridge = job(9, 'deploy', 'success', { started: 5, finished: 50 }, { kind: 'bridge' })
      await observe(event('success', { finishedAt: at(60) }, [bridge]))
      await takeSnapshot()
      await settle('delivered')
      here.move(30 * day)
      expect(await prune()).toBe(1)
      const parent = await store.runs.ancestor(key, 9)
      expect(parent?.head.attempts[0]?.trace.rootPipelineId).toBe(7)
      expect(parent?.trigger?.record.facts.kind).toBe('bridge')
      expect((await store.runs.ancestor(key, 10))?.trigger).toBeUndefined()
      expect(await store.pruning.tombstones(here.now(), 10)).toBe(0)
      here.move(1)
      expect(await store.pruning.tombstones(here.now(), 10)).toBe(1)
      expect(await store.runs.get(key)).toBeUndefined()
    })

    const maintained = (of: Store, clock: Clock) =>
      createMaintenance({
        ...{ store: of, served: [exportQueue], clock, log: silentLog() },
        ...{ retention: week, remember: 400 * day, keepFigures: 400 * day },
      })
    /** Runs maintenance on a store with the given maximum size until `isDone` resolves to true. */
    const maintain = async (maxSize: number, isDone: () => Promise<boolean>): Promise<void> => {
      const sized = await here.open({ maxSize })
      const clock = { now: () => here.now(), sleep: async () => new Promise<void>(resolve => setImmediate(resolve)) }
      const loop = maintained(sized, clock)
      loop.start()
      await expect.poll(isDone).toBe(true)
      await loop.stop()
      await sized.close()
    }
    const counter = async (name: string): Promise<number | undefined> =>
      (await store.counters.all()).get(`pruned.${name}`)

    it('prunes before the retention period ends if the store is nearly full, recently delivered runs last', async () => {
      for (const id of [1, 2]) {
        await observe(failed(id))
        await takeSnapshot(id)
        await settle('delivered')
        here.move(11 * minute)
      }
      await observe(failed(3))
      await takeSnapshot(3)
      await settle('delivered')
      const early = async (maxSize: number): Promise<number | undefined> => {
        const before = await counter('runs_early')
        await maintain(maxSize, async () => (await counter('runs_early')) !== before)
        return counter('runs_early')
      }
      const used = (await store.pruning.fullness()) * 2 ** 30
      expect(await early(Math.ceil(used / 0.95))).toBe(2)
      expect((await store.runs.count()).runs).toBe(1)
      here.move(1)
      // At its limit the store would reject new data, so it prunes recent runs too.
      expect(await early(1)).toBe(3)
      expect((await store.runs.count()).runs).toBe(0)
    })

    it.each([
      ['after the retention period', week + minute, 2 ** 40],
      ['at once when the store is nearly full', 11 * minute, 1],
    ])(
      'drops exports that are pending for a removed destination %s, but not held exports',
      async (_when, later, maxSize) => {
        const gone = { ...exportQueue, destination: 'gone' }
        const held = { ...exportQueue, destination: 'default@1f3c9a2b' }
        await observe(failed(10))
        await takeSnapshot(10, held)
        await observe(failed())
        await takeSnapshot(7, gone)
        await observe(failed(8))
        await takeSnapshot(8)
        here.move(later)
        await observe(failed(9))
        await takeSnapshot(9, gone)
        await maintain(maxSize, async () => (await counter('unserved_exports')) === 1)
        expect(await store.outbox.queues()).toMatchObject([
          { ...exportQueue, pending: 1 },
          { ...held, pending: 1 },
          { ...gone, pending: 1 },
        ])
      },
    )

    it('lets one replica prune and count what it pruned, and lets another take over once that replica is gone', async () => {
      await observe(failed())
      await takeSnapshot()
      await settle('delivered')
      await keep(store, undecodable({ receivedAt: here.now() }))
      await takeKeys(store, 'a')
      here.move(30 * day)
      const maintenance = () => {
        let slept = (): void => undefined
        const rested = new Promise<void>(resolve => (slept = resolve))
        const clock = {
          now: () => here.now(),
          sleep: async (ms: number, signal?: AbortSignal) => {
            if (ms < 1_000) return
            slept()
            await new Promise(resolve => signal?.addEventListener('abort', resolve))
          },
        }
        return { loop: maintained(store, clock), rested }
      }
      expect(await store.leases.take('maintenance', 'another replica', minute)).toBe(true)
      const early = maintenance()
      early.loop.start()
      await early.rested
      expect(await store.runs.count()).toMatchObject({ runs: 1 })
      here.move(minute)
      early.loop.wake()
      await expect.poll(async () => (await store.runs.count()).runs).toBe(0)
      await expect
        .poll(async () => store.counters.all())
        .toEqual(
          new Map([
            ['pruned.delivery_keys', 1],
            ['pruned.quarantined_deliveries', 1],
            ['pruned.runs', 1],
          ]),
        )
      await early.loop.stop()
      expect(await store.leases.take('maintenance', 'another replica', minute)).toBe(true)
    })
  })
}
