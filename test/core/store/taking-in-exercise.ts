// Tests the transaction in which a store takes in deliveries. The tests run on both databases.
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { at, event, instance, job, rules } from '../../flow/world.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { proveRoom } from '../../../src/core/store/maintenance/fullness.ts'
import { opened, type Bench } from './benches.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import type { Undecodable } from '../../../src/core/store/ports/quarantine.ts'

const day = 24 * 3_600_000

/** Takes in deliveries with these keys, and returns which of them are new. */
export async function takeKeys(store: Store, ...keys: (string | undefined)[]): Promise<readonly boolean[]> {
  return store.runs.takeIn({ keys, plan: () => ({ work: [] }) })
}

/** Returns a delivery that could not be decoded. */
export function undecodable(more: Partial<Undecodable> = {}): Undecodable {
  return {
    ...{ event: 'Pipeline Hook', instance, source: 'webhook', receivedAt: at(0), reason: 'no id', version: '1.0.0' },
    body: Buffer.from('{}'),
    ...more,
  }
}

export async function keep(store: Store, ...kept: Undecodable[]): Promise<void> {
  await store.runs.takeIn({ keys: [undefined], plan: () => ({ work: [], undecodable: kept }) })
}

export function takingInExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`taking in deliveries on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => ({ here, store } = await opened(bench)))

    it('accepts a delivery key once, even if a group of deliveries repeats it or the store was reopened, and accepts it again after a week', async () => {
      expect(await takeKeys(store, 'a', undefined, 'a', undefined, 'b')).toEqual([true, true, false, true, true])
      await store.close()
      store = await here.open()
      expect(await takeKeys(store, 'b', 'a', 'c')).toEqual([false, false, true])
      here.move(6 * day)
      expect(await takeKeys(store, 'a')).toEqual([false])
      here.move(8 * day)
      expect(await takeKeys(store, 'a')).toEqual([true])
    })

    it('recognises a delivery key even if the clock was set back over midnight in the meantime', async () => {
      here.move(day - (here.now() % day) + 30_000)
      expect(await takeKeys(store, 'a')).toEqual([true])
      here.move(-60_000)
      expect(await takeKeys(store, 'a')).toEqual([false])
    })

    it('drops old delivery keys when it prunes, day by day', async () => {
      await takeKeys(store, 'a')
      here.move(day + 1)
      await takeKeys(store, 'b')
      expect(await store.pruning.keys(here.now(), 10)).toBe(1)
      expect(await takeKeys(store, 'a', 'b')).toEqual([true, false])
    })

    it('changes only the runs that new deliveries report, and nothing if the transaction fails', async () => {
      const finished = (id: number) =>
        mergeObservations([event('failed', { finishedAt: at(60) }, [], {}, id)], 'webhook', rules)
      const take = async (keys: string[], ids: number[]): Promise<readonly boolean[]> =>
        store.runs.takeIn({ keys, plan: isNew => ({ work: ids.filter((_, index) => isNew[index]).flatMap(finished) }) })
      await take(['a'], [1])
      await take(['a', 'b'], [2, 3])
      const known = await Promise.all([1, 2, 3].map(async id => store.runs.get({ instance, pipelineId: id })))
      expect(known.map(one => one !== undefined)).toEqual([true, false, true])
      const broken = store.runs.takeIn({
        keys: ['c'],
        plan: () => {
          throw new Error('broken')
        },
      })
      await expect(broken).rejects.toThrow('broken')
      expect(await takeKeys(store, 'c')).toEqual([true])
    })

    it('produces the same run and counts each key once, however deliveries are ordered, repeated and grouped', async () => {
      const all = [
        event('running', {}, [job(1, 'build', 'running', { started: 5 })]),
        event('running', {}, [job(1, 'build', 'success', { started: 5, finished: 20 }), job(2, 'test', 'created')]),
        event('failed', { finishedAt: at(60) }, [job(2, 'test', 'failed', { started: 21, finished: 55 })]),
      ].map((observation, index) => ({ key: `key ${index}`, observation }))
      const sequence = fc.shuffledSubarray([...all, ...all], { minLength: 6 })
      let pipelineId = 0
      const ends: unknown[] = []
      await fc.assert(
        fc.asyncProperty(
          sequence,
          fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 6, maxLength: 6 }),
          async (deliveries, sizes) => {
            pipelineId += 1
            const key = { instance, pipelineId }
            const left = [...deliveries]
            let fresh = 0
            for (const size of sizes) {
              const group = left.splice(0, size)
              const isNew = await store.runs.takeIn({
                keys: group.map(one => `${one.key} of ${pipelineId}`),
                plan: areNew => ({
                  work: mergeObservations(
                    group.filter((_, index) => areNew[index]).map(({ observation }) => ({ ...observation, key })),
                    'webhook',
                    rules,
                  ),
                }),
              })
              fresh += isNew.filter(Boolean).length
            }
            expect(fresh).toBe(all.length)
            const { run } = (await store.runs.get(key))!
            ends.push({ ...run, key: undefined })
            expect(ends.at(-1)).toEqual(ends[0])
          },
        ),
        { numRuns: 20 },
      )
    })

    it('reports that the store is full and not ready once it has reached its maximum size', async () => {
      const small = await here.open({ maxSize: 1 })
      expect(await small.isFull()).toBe(true)
      await expect(proveRoom(small)).rejects.toThrow('PIPESPAN_STORE_MAX_SIZE')
      await small.close()
      expect(await store.isFull()).toBe(false)
      await expect(proveRoom(store)).resolves.toBeUndefined()
    })

    it('keeps an undecodable delivery together with the reason', async () => {
      await keep(store, undecodable({ body: Buffer.from([0, 1, 255]) }))
      const [kept] = await store.quarantine.list(10)
      expect(kept).toMatchObject({ event: 'Pipeline Hook', instance, reason: 'no id', version: '1.0.0', size: 3 })
      const shown = await store.quarantine.show(kept!.id)
      expect([...shown!.body]).toEqual([0, 1, 255])
      expect(await store.quarantine.count()).toBe(1)
    })

    it('decodes quarantined deliveries again on request, including those from another version', async () => {
      await keep(store, undecodable({ version: '1.0.0' }), undecodable({ version: '2.0.0', reason: 'no project' }))
      expect(await store.quarantine.toRetry(10)).toEqual([])
      expect(await store.quarantine.retryOfOtherVersions('2.0.0')).toBe(1)
      const [first] = await store.quarantine.toRetry(10)
      expect(first).toMatchObject({ version: '1.0.0', reason: 'no id' })
      await store.runs.takeIn({ keys: [], plan: () => ({ work: [], retried: [first!.id] }) })
      expect(await store.quarantine.count()).toBe(1)
      expect(await store.quarantine.retry('all')).toBe(1)
      expect(await store.quarantine.toRetry(10)).toMatchObject([{ version: '2.0.0' }])
    })
  })
}
