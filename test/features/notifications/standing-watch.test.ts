// Conditions of features that last until somebody acts.
import { expect, it } from 'vitest'
import { chunkOf, deliver } from '../../support/of-run.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createNotifier } from '../../../src/features/notifications/notifier.ts'
import { createStandingWatch } from '../../../src/features/notifications/standing-watch.ts'
import { isEvent } from '../../../src/model/event.ts'
import { knownConditions } from '../../../src/features/notifications/documents.ts'
import { openSqlite } from '../../support/stores.ts'
import { ownInstance, type Condition } from '../../../src/model/condition.ts'
import { silentLog } from '../../../src/lib/log.ts'

it('announces once that a condition is broken, and once that it is fixed', async () => {
  let now = Date.now()
  const store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
  let state: Condition['state'] = 'fixed'
  const watch = createStandingWatch({
    notifier: createNotifier([{ name: 'chat', of: ['tokens'], since: 0 }], text => text, 'generic'),
    ...{ runs: store.runs, outbox: store.outbox, conditions: store.repositories.of(knownConditions), destinations: [] },
    standing: [
      async at => [
        {
          ...{ kind: 'tokens', instance: ownInstance, subject: 'one', state, at, version: [Math.round(at)] },
          ...{ title: `it is ${state}`, details: {} },
        },
      ],
    ],
    lease: { isMine: async () => true, release: async () => undefined },
    onMessage: () => undefined,
    clock: { now: () => now, sleep: async () => undefined },
    log: silentLog(),
  })
  const titles = async (): Promise<string[]> => {
    now += 60_000
    await watch.look()
    const items = await deliver(store, { destination: 'chat', signal: 'notifications' })
    return items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? chunk.event.body : []))
  }
  expect(await titles()).toEqual([])
  state = 'broken'
  expect(await titles()).toEqual(['it is broken'])
  expect(await titles()).toEqual([])
  state = 'fixed'
  expect(await titles()).toEqual(['it is fixed'])
  expect(await titles()).toEqual([])
})
