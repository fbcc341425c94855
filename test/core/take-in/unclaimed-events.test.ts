// Tests events on both databases, with and without a destination that accepts log records.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { event as observed } from '../store/events-exercise.ts'
import { eventFiles } from '../../fixtures/event-files.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import { everything, instance, takeInOf } from '../../flow/world.ts'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { bothDatabases, type Bench } from '../store/benches.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { takeEvents, type EventRules } from '../../../src/core/take-in/events.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const logs = { destination: 'default', signal: 'logs' } as const
const flag = eventFiles.find(({ event }) => event === 'Feature Flag Hook')!
const withoutShop = createSelection({ projects: { exclude: ['team/shop'] }, refs: {}, sources: {} })

describe.each(bothDatabases())('an event on %s', (_, bench) => {
  let here: Bench
  let store: Store
  let wakes: number
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    wakes = 0
  })
  const rulesFor = (to: EventRules['to']): EventRules => ({
    ...{ to, profile: 'generic', wait: 0 },
    onTaken: () => (wakes += 1),
  })
  const rowsOf = async (name: string): Promise<number> => {
    const table = (await store.tables.list()).find(one => one.name === name)
    if (table === undefined) throw new Error(`There is no table ${name}.`)
    return (await store.tables.read(table, undefined, 10)).length
  }

  it.each([
    ['is stored and wakes the exporter where a destination takes log records', [logs], 1],
    ['is counted and not stored where no destination takes log records', [], 0],
  ])('an event that a webhook reported %s', async (_promise, to, stored) => {
    const takeIn = takeInOf(store, {
      events: rulesFor(to),
      parse: delivery => parseDelivery(delivery, { profile: profiles.generic, traceparent: false, events: everyEvent }),
      now: () => here.now(),
    })
    const delivery = { key: 'a', event: flag.event, instance, source: 'webhook', body: Buffer.from(flag.text) } as const
    expect(await takeIn.take(delivery)).toBe('accepted')
    expect(takeIn.counters).toMatchObject({ processed: 1, events: 1, unclaimedEvents: 1 - stored, unparseable: 0 })
    expect([await rowsOf('chunks'), await rowsOf('outbox'), wakes]).toEqual([stored, stored, stored])
  })

  it.each([
    ['is stored and wakes the exporter where a destination takes log records', [logs], everything, 1],
    ['is not stored where no destination takes log records', [], everything, 0],
    ['is not stored if it is of a project that is left out', [logs], withoutShop, 0],
  ])('an event that the API reported %s', async (_promise, to, selection, stored) => {
    const taking = { runs: store.runs, selection, rules: rulesFor(to), now: () => here.now() }
    await takeEvents([observed('on', { key: 'flag 6 on' })], taking)
    expect([await rowsOf('chunks'), await rowsOf('outbox'), wakes]).toEqual([stored, stored, stored])
  })
})
