// Tests how a store handles events that are not about a run. The tests run on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { chunkOf, deliver } from '../../support/of-run.ts'
import { opened, type Bench } from './benches.ts'
import { day, hour, minute, second } from '../../flow/world.ts'
import { eventChunk, isEvent, type EventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { keyMemory } from '../../../src/core/store/sql/take-in.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue = { destination: 'default', signal: 'logs' } as const

/** Returns a feature flag event. If it has a key, the store deduplicates it by this key. */
export function event(content: string, more: Partial<PlatformEvent> = {}): PlatformEvent {
  return {
    instance: 'https://git.example.com',
    kind: 'feature_flag',
    name: 'platform.feature_flag.change',
    severity: 'info',
    body: `Flag ${content}`,
    attributes: { 'platform.feature_flag.active': content === 'on' },
    project: { id: 71, path: 'team/shop' },
    object: 'flag 6',
    content,
    ...more,
  }
}

/** Returns the pending events in the order in which they were taken in, and marks them as delivered. */
export async function exportedEvents(store: Store): Promise<EventChunk[]> {
  return [...(await deliver(store, exportQueue))]
    .sort((a, b) => a.id - b.id)
    .map(chunkOf)
    .filter(isEvent)
}

export function eventsExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`events on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => ({ here, store } = await opened(bench)))

    async function take(...events: readonly PlatformEvent[]): Promise<void> {
      const received = events.map(one => ({
        ...{ event: one, chunk: eventChunk(one, here.now(), 'generic') },
        to: [exportQueue],
      }))
      await store.runs.transact([], { events: received })
    }

    const exported = async (): Promise<EventChunk[]> => exportedEvents(store)

    it('exports an event with a known key only once, however often it is reported, in one transaction or several', async () => {
      const one = event('a', { key: 'deployment 15 success' })
      await take(one, { ...one, body: 'observed otherwise' })
      await take(one)
      await store.close()
      store = await here.open()
      await take(one, event('b', { key: 'deployment 15 failed' }))
      expect((await exported()).map(({ event: { body } }) => body)).toEqual(['Flag a', 'Flag b'])
    })

    it('exports three events if a flag is switched on, off and on again within a minute and two hooks report each change, even if the clock is set back', async () => {
      for (const content of ['on', 'off', 'on']) {
        await take(event(content), event(content))
        here.move(-second)
        await take(event(content))
      }
      here.move(minute)
      const found = await exported()
      expect(found.map(({ event: { body } }) => body)).toEqual(['Flag on', 'Flag off', 'Flag on'])
      const times = found.map(({ at }) => at)
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
    })

    it("exports four events if a token's expiry is announced four times, each time by two hooks", async () => {
      const announced = event('expires', { object: 'token 25' })
      for (let days = 0; days < 4; days += 1) {
        await take(announced)
        here.move(9 * minute)
        await take(announced)
        here.move(7 * day)
      }
      expect(await exported()).toHaveLength(4)
    })

    it('treats events of different objects independently', async () => {
      await take(event('on'), event('on', { object: 'flag 7' }), event('off', { object: 'flag 7' }), event('on'))
      expect(await exported()).toHaveLength(3)
    })

    it('keeps rejected events as dead letters that describe them and can be retried', async () => {
      await take(event('on'))
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      await store.outbox.settle(token, [{ id: items[0]!.id, as: 'rejected', status: 400, error: 'no events here' }])
      const [letter] = await store.outbox.deadLetters(10)
      expect(letter).toMatchObject({ instance: 'https://git.example.com', event: 'feature_flag', status: 400 })
      expect(letter?.pipelineId).toBeUndefined()
      expect(chunkOf((await store.outbox.deadLetter(letter!.id))!)).toMatchObject({
        kind: 'event',
        project: { id: 71 },
      })
      expect(await store.outbox.retryDead('all')).toBe(1)
      expect(await exported()).toHaveLength(1)
    })

    it('prunes events after the retention period, but still sends pending ones', async () => {
      const one = event('a', { key: 'deployment 15 success' })
      await take(one, event('on'))
      here.move(keyMemory + hour)
      expect(await store.pruning.events(here.now() - keyMemory, 10)).toBe(2)
      expect(await exported()).toHaveLength(2)
      await take(one)
      expect(await exported()).toHaveLength(1)
    })
  })
}
