// A clock that was a year, or some hours, ahead and is right again: what the daemon promises then, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, day, event, hour, job, minute, rules, snapshotterWith, settlerOf } from '../../flow/world.ts'
import { createMaintenance } from '../../../src/core/store/maintenance/maintenance.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { bothDatabases, opened, type Bench } from './benches.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue: ExportQueue = { destination: 'default', signal: 'traces' }

for (const [name, bench] of bothDatabases())
  describe.each([
    ['a year', 365 * day],
    ['three hours', 3 * hour],
  ])(`after a clock was %s ahead on ${name}, the daemon`, (_, ahead) => {
    let here: Bench
    let store: Store
    const snapshotter = snapshotterWith()
    beforeEach(async () => {
      ;({ here, store } = await opened(bench))
      here.move(ahead)
    })

    async function observe(id: number, status: string, enrichDeadline?: number): Promise<void> {
      const jobs = [job(id * 10, 'build', 'success', { started: 5, finished: 50 })]
      const observed = event(status, status === 'running' ? {} : { finishedAt: at(60) }, jobs, {}, id)
      await store.runs.transact(mergeObservations([observed], 'webhook', { ...rules, enrichDeadline }))
    }
    async function settle(): Promise<void> {
      await settlerOf(store, { perTransaction: 50, snapshotter }).drain()
    }
    /** The next life of the daemon, with the right clock. */
    async function restart(): Promise<void> {
      await store.close()
      here.move(-ahead)
      store = await here.open()
      await store.reclaim()
      await store.bringBack()
    }
    const pendingCount = async (): Promise<number> => (await store.outbox.lease(exportQueue, 100, minute)).items.length

    it('settles runs that ended then after the settle delay, also those that wait for enrichment', async () => {
      await observe(1, 'success')
      await observe(2, 'success', rules.deadline)
      await restart()
      await settle()
      here.move(rules.settle)
      await settle()
      expect(await pendingCount()).toBe(1)
      here.move(rules.deadline)
      await settle()
      // The first one's lease has run out.
      expect(await pendingCount()).toBe(2)
    })

    it('settles runs that began then and continue now', async () => {
      await observe(1, 'running')
      await restart()
      await settle()
      // It is given up in time if it stays silent.
      expect(await store.runs.dueIn()).toBe(rules.staleAfter)
      await observe(1, 'success')
      here.move(rules.settle)
      await settle()
      expect(await pendingCount()).toBe(1)
    })

    it('sends exports that were delayed then', async () => {
      await observe(1, 'success')
      await observe(2, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      const [first] = items
      await store.outbox.settle(token, [
        { id: first!.id, as: 'later', forMs: 24 * hour, error: 'busy', counted: false },
      ])
      here.move(-rules.settle)
      await restart()
      expect(await pendingCount()).toBe(2)
    })

    it('sends the API requests that were due then', async () => {
      await observe(1, 'success', rules.deadline)
      await observe(2, 'success', rules.deadline)
      expect(await store.enrichment.take('fresh', 1, minute)).toHaveLength(1)
      await restart()
      expect(await store.enrichment.take('fresh', 10, minute)).toHaveLength(2)
    })

    it('takes back the leases of a process that died then', async () => {
      await store.leases.take('maintenance', 'dead', minute)
      await restart()
      expect(await store.leases.take('maintenance', 'alive', minute)).toBe(true)
    })

    it('forgets in time what was stored then', async () => {
      await observe(1, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      await store.outbox.settle(token, [{ id: items[0]!.id, as: 'delivered' }])
      here.move(-rules.settle)
      await restart()
      here.move(8 * day)
      const { pruned } = await store.pruning.runs(here.now() - 7 * day, 10, undefined)
      expect(pruned).toBe(1)
    })

    it('keeps the settle delay of what another replica wrote while it read the clock', async () => {
      here.move(500 - ahead)
      await observe(1, 'success')
      here.move(-500)
      expect(await store.bringBack()).toBe(0)
      await settle()
      expect(await pendingCount()).toBe(0)
      here.move(rules.settle + 500)
      await settle()
      expect(await pendingCount()).toBe(1)
    })

    it('does not touch what is due by the correct clock', async () => {
      await restart()
      await observe(1, 'running', rules.deadline)
      await observe(2, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      const later = { id: items[0]!.id, as: 'later', forMs: 5 * minute, error: 'busy', counted: false } as const
      await store.outbox.settle(token, [later])
      expect(await store.bringBack()).toBe(0)
    })

    it('repairs times when its maintenance begins', async () => {
      await observe(1, 'success')
      here.move(-ahead)
      const clock = { now: () => here.now(), sleep: async () => new Promise<void>(resolve => setImmediate(resolve)) }
      const keep = { retention: day, remember: day, keepFigures: day }
      const loop = createMaintenance({ store, served: [exportQueue], ...keep, clock, log: silentLog() })
      loop.start()
      await expect.poll(async () => store.runs.dueIn()).toBe(0)
      await loop.stop()
    })
  })
