// Tests the basic operations of a store. The tests run on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { event, instance, job, at, rules } from '../../flow/world.ts'
import { exportQueue, snapshotWork } from './exported-run.ts'
import { takingInExercise } from './taking-in-exercise.ts'
import { chunkOf, pipelineIdOf } from '../../support/of-run.ts'
import { opened, type Bench } from './benches.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const key = { instance, pipelineId: 7 }

function finished(pipelineId = 7): RunWork[] {
  const jobs = [job(1, 'build', 'success', { started: 5, finished: 50 }), job(2, 'test', 'failed', { finished: 55 })]
  return mergeObservations([event('failed', { finishedAt: at(60) }, jobs, {}, pipelineId)], 'webhook', rules)
}

export function exercise(name: string, bench: () => Promise<Bench>): void {
  takingInExercise(name, bench)
  describe(`the store on ${name}`, () => {
    let here: Bench
    let store: Store

    beforeEach(async () => ({ here, store } = await opened(bench)))

    async function oweExports(count: number, to?: readonly ExportQueue[]): Promise<void> {
      for (let id = 1; id <= count; id += 1) {
        await store.runs.transact(finished(id))
        await store.runs.transact([snapshotWork(id, chunk => ({ chunk, to: to ?? [exportQueue] }))])
        here.move(1)
      }
    }

    describe('stored runs', () => {
      it('returns a run with its jobs exactly as it was written', async () => {
        await store.runs.transact(finished())
        const found = await store.runs.get(key)
        expect(found?.run.pipeline?.record.facts).toMatchObject({ status: 'failed', ref: 'main' })
        expect([...(found?.run.jobs.values() ?? [])].map(one => [one.id, one.times.finishedAt])).toEqual([
          [1, at(50)],
          [2, at(55)],
        ])
        expect(found?.firstSeenBy).toEqual({ webhook: here.now() })
        expect(found?.timing).toMatchObject({ changedAt: here.now(), dueAt: here.now() + rules.settle })
      })

      it('writes nothing at all if the decision about one run throws an error', async () => {
        const fails: RunWork = {
          key: { instance, pipelineId: 8 },
          jobs: 'all',
          decide: () => {
            throw new Error('broken')
          },
        }
        await expect(store.runs.transact([...finished(), fails])).rejects.toThrow('broken')
        expect(await store.runs.get(key)).toBeUndefined()
      })

      it('leases a due run to one worker, and to another if the first did not finish it', async () => {
        await store.runs.transact(finished())
        expect(await store.runs.takeDue(10, 1_000)).toEqual([])
        expect(await store.runs.dueIn()).toBe(rules.settle)
        here.move(rules.settle)
        expect(await store.runs.takeDue(10, 1_000)).toEqual([key])
        expect(await store.runs.takeDue(10, 1_000)).toEqual([])
        here.move(1_000)
        expect(await store.runs.takeDue(10, 1_000)).toEqual([key])
      })

      it('provides a child pipeline with the facts about its parent', async () => {
        await store.runs.transact(finished())
        const parent = await store.runs.ancestor(key, 2)
        expect(parent?.head.pipeline?.record.facts.status).toBe('failed')
        expect(parent?.trigger?.id).toBe(2)
        expect(await store.runs.ancestor({ instance, pipelineId: 99 }, 2)).toBeUndefined()
      })
    })

    describe('stored exports', () => {
      it('leases entries from both ends of the queue if the bytes per lease are limited, and always at least one entry', async () => {
        await oweExports(6)
        const size = (await store.outbox.lease(exportQueue, 10, 0)).items[0]!.body.length
        const { items } = await store.outbox.lease(exportQueue, 10, 1_000, size * 2.5)
        expect(items.map(pipelineIdOf).sort((a, b) => a - b)).toEqual([1, 2, 6])
        expect((await store.outbox.lease(exportQueue, 10, 1_000, 1)).items).toHaveLength(1)
        expect((await store.outbox.lease(exportQueue, 10, 1_000)).items).toHaveLength(2)
      })

      it('finds outbox entries in the middle of the queue while both ends are leased', async () => {
        await oweExports(10)
        const taken: number[][] = []
        for (let count = 0; count < 4; count += 1) {
          const { items } = await store.outbox.lease(exportQueue, 4, 1_000)
          taken.push(items.map(pipelineIdOf).sort((a, b) => a - b))
        }
        expect(taken).toEqual([[1, 2, 9, 10], [3, 4, 7, 8], [5, 6], []])
      })

      it('reports when the next entry is due, which for a leased entry is when its lease expires', async () => {
        const logs: ExportQueue = { destination: 'default', signal: 'logs' }
        await oweExports(2, [exportQueue, logs])
        const first = await store.outbox.lease(exportQueue, 1, 1_000)
        expect(await store.outbox.dueIn(exportQueue)).toBe(0)
        here.move(1)
        await store.outbox.lease(exportQueue, 1, 1_000)
        expect(await store.outbox.dueIn(exportQueue)).toBe(999)
        expect(await store.outbox.dueIn(logs)).toBe(0)
        const id = first.items[0]!.id
        await store.outbox.settle(first.token, [{ id, as: 'later', forMs: 500, error: 'HTTP 503', counted: true }])
        expect(await store.outbox.dueIn(exportQueue)).toBe(500)
      })

      it('does not settle entries whose lease was lost', async () => {
        await oweExports(1)
        const first = await store.outbox.lease(exportQueue, 10, 1_000)
        here.move(1_000)
        const second = await store.outbox.lease(exportQueue, 10, 1_000)
        const id = first.items[0]!.id
        expect(await store.outbox.settle(first.token, [{ id, as: 'rejected', status: 400, error: 'no' }])).toEqual({
          lost: 1,
          at: here.now(),
        })
        // An expired lease can still settle entries that nobody else has leased since.
        here.move(1_000)
        expect(await store.outbox.settle(second.token, [{ id, as: 'delivered' }])).toEqual({ lost: 0, at: here.now() })
        expect(await store.outbox.deadLetters(10)).toEqual([])
        expect(await store.outbox.dueIn(exportQueue)).toBeUndefined()
      })

      it('reports how many unsettled entries are leased again, because they may already have been sent', async () => {
        await oweExports(3)
        const { token, items, repeated } = await store.outbox.lease(exportQueue, 10, 1_000)
        expect([items.length, repeated]).toEqual([3, 0])
        await store.outbox.settle(token, [{ id: items[0]!.id, as: 'unsent' }])
        here.move(1_000)
        const again = await store.outbox.lease(exportQueue, 10, 1_000)
        expect([again.items.length, again.repeated]).toEqual([3, 2])
      })

      it('keeps deferred entries pending, and counts their attempts if requested', async () => {
        await oweExports(2)
        const { token, items } = await store.outbox.lease(exportQueue, 10, 1_000)
        await store.outbox.settle(token, [
          { id: items[0]!.id, as: 'later', forMs: 500, error: 'HTTP 503', counted: true },
          { id: items[1]!.id, as: 'unsent' },
        ])
        const now = await store.outbox.lease(exportQueue, 10, 1_000)
        expect(now.items.map(({ id, tries }) => [id, tries])).toEqual([[items[1]!.id, 0]])
        here.move(500)
        const then = await store.outbox.lease(exportQueue, 10, 1_000)
        expect(then.items.map(({ id, tries }) => [id, tries])).toEqual([[items[0]!.id, 1]])
      })

      it('makes the deferred entries of one queue due immediately, but not the leased ones', async () => {
        const logs: ExportQueue = { destination: 'default', signal: 'logs' }
        await oweExports(3, [exportQueue, logs])
        const { token, items } = await store.outbox.lease(exportQueue, 3, 60_000)
        const { token: other, items: others } = await store.outbox.lease(logs, 3, 60_000)
        const later = { as: 'later' as const, forMs: 300_000, error: 'HTTP 503', counted: true }
        await store.outbox.settle(
          token,
          items.slice(0, 2).map(({ id }) => ({ id, ...later })),
        )
        await store.outbox.settle(
          other,
          others.map(({ id }) => ({ id, ...later })),
        )
        here.move(1_000)
        const putOff = async (): Promise<unknown> =>
          (await store.outbox.queues()).map(queue => [queue.signal, queue.pending, queue.putOff])
        expect(await putOff()).toEqual([
          ['logs', 3, 3],
          ['traces', 3, 2],
        ])
        expect(await store.outbox.makeDue(exportQueue)).toBe(2)
        expect(await store.outbox.makeDue(exportQueue)).toBe(0)
        expect(await store.outbox.dueIn(exportQueue)).toBe(0)
        expect(await store.outbox.dueIn(logs)).toBe(299_000)
        const again = await store.outbox.lease(exportQueue, 10, 60_000)
        expect(again.items.map(({ id }) => id)).toEqual(items.slice(0, 2).map(({ id }) => id))
        expect(await store.outbox.settle(token, [{ id: items[2]!.id, as: 'delivered' }])).toMatchObject({ lost: 0 })
      })

      it("keeps dead letters with the backend's message until they are retried or dropped", async () => {
        await oweExports(2)
        const { token, items } = await store.outbox.lease(exportQueue, 10, 1_000)
        await store.outbox.settle(
          token,
          items.map(({ id }) => ({ id, as: 'rejected' as const, status: 400, error: 'bad attribute' })),
        )
        const letters = await store.outbox.deadLetters(10)
        expect(letters).toHaveLength(2)
        expect(letters[0]).toMatchObject({ ...exportQueue, instance, status: 400, error: 'bad attribute', attempt: 1 })
        expect(chunkOf((await store.outbox.deadLetter(letters[0]!.id))!).key).toEqual({ instance, pipelineId: 2 })
        expect(await store.outbox.retryDead([letters[0]!.id])).toBe(1)
        expect(await store.outbox.dropDead('all')).toBe(1)
        expect((await store.outbox.lease(exportQueue, 10, 1_000)).items).toHaveLength(1)
        expect(await store.outbox.deadLetters(10)).toEqual([])
      })

      it('moves pending entries to a queue with another name and back, but no other entries', async () => {
        await oweExports(4)
        const { token, items } = await store.outbox.lease(exportQueue, 1, 1_000)
        await store.outbox.settle(token, [{ id: items[0]!.id, as: 'rejected', status: 400, error: 'bad attribute' }])
        const held = { ...exportQueue, destination: 'default@1f3c9a2b' }
        expect(await store.outbox.move({ ...exportQueue, signal: 'logs' }, held.destination, 10)).toBe(0)
        expect(await store.outbox.move(exportQueue, held.destination, 2)).toBe(2)
        expect(await store.outbox.move(exportQueue, held.destination, 2)).toBe(1)
        expect((await store.outbox.lease(exportQueue, 10, 1_000)).items).toEqual([])
        expect(await store.outbox.queues()).toMatchObject([
          { ...exportQueue, pending: 0, dead: 1 },
          { ...held, pending: 3, dead: 0 },
        ])
        expect(await store.pruning.unserved(held, Number.MAX_SAFE_INTEGER, 1)).toBe(1)
        expect(await store.outbox.move(held, exportQueue.destination, 10)).toBe(2)
        expect((await store.outbox.lease(exportQueue, 10, 1_000)).items).toHaveLength(2)
        expect(await store.outbox.dueIn(held)).toBeUndefined()
      })

      it('reports for each export queue how many entries are pending, and since when', async () => {
        await oweExports(3)
        expect(await store.outbox.queues()).toEqual([
          {
            ...exportQueue,
            pending: 3,
            oldest: expect.any(Number) as number,
            dead: 0,
            putOff: 0,
            lastError: undefined,
          },
        ])
      })
    })

    describe('repositories and leases', () => {
      it('stores documents by key, changes them under a lock, and lists them', async () => {
        const { sweeps } = store.repositories
        const [one, two] = ['acme', 'acme/shop'].map(group => ({ instance: 'https://git.example.com', group }))
        const count =
          (key: { instance: string; group: string }) => (known: { count: number } | undefined, now: number) => ({
            document: { ...key, startedAt: now, since: 0, count: (known?.count ?? 0) + 1, done: false },
            result: known?.count,
          })
        expect(await sweeps.change(one!, count(one!))).toBeUndefined()
        expect(await sweeps.change(one!, count(one!))).toBe(1)
        await Promise.all(Array.from({ length: 5 }, () => sweeps.change(two!, count(two!))))
        await store.repositories.ownPipelines.put({ instance: 'https://git.example.com', newest: 1 })
        expect(await sweeps.all()).toMatchObject([
          { ...one, count: 2 },
          { ...two, count: 5 },
        ])
        await sweeps.remove(one!)
        expect(await sweeps.get(one!)).toBeUndefined()
        expect(await sweeps.get(two!)).toMatchObject({ count: 5 })
      })

      it('grants a lease to one holder until it expires or is released', async () => {
        expect(await store.leases.take('poller', 'one', 1_000)).toBe(true)
        expect(await store.leases.take('poller', 'two', 1_000)).toBe(false)
        here.move(900)
        expect(await store.leases.take('poller', 'one', 1_000)).toBe(true)
        here.move(900)
        expect(await store.leases.take('poller', 'two', 1_000)).toBe(false)
        here.move(100)
        expect(await store.leases.take('poller', 'two', 1_000)).toBe(true)
        await store.leases.release('poller', 'one')
        expect(await store.leases.take('poller', 'one', 1_000)).toBe(false)
        await store.leases.release('poller', 'two')
        expect(await store.leases.take('poller', 'one', 1_000)).toBe(true)
      })
    })

    it('keeps adding to counters across restarts', async () => {
      await store.counters.add('pruned', 2)
      await store.counters.add('pruned', 3)
      const other = await here.open()
      expect(await other.counters.all()).toEqual(new Map([['pruned', 5]]))
      await other.close()
    })
  })
}
