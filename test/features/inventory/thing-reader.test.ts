// Tests when inventory items are requested again after a failure, and what happens to a request when the daemon stops.
import { createServer } from 'node:http'
import { z } from 'zod'
import { expect, it } from 'vitest'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient } from '../../../src/platform/rest/client.ts'
import { createSingleton } from '../../../src/core/find/rounds.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createThingReader } from '../../../src/core/find/thing-reader.ts'
import { openSqlite } from '../../support/stores.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { day, hour, minute, openInventoryWorld } from './world.ts'
import type { Thing } from '../../../src/platform/port/asking.ts'

const agents: Thing = {
  ...{ kind: 'agents', of: '333', every: hour, atLeast: 1 },
  collect: async ({ ask }) => {
    await ask?.one('/projects/333/cluster_agents', z.unknown())
    return { points: [] }
  },
}

it.each([
  ['a day if the platform denied it', 403, day],
  ['five minutes if the platform failed', 502, 5 * minute],
])('requests an inventory item again after %s', async (_, status, pause) => {
  await using world = await openInventoryWorld()
  world.answers(/cluster_agents/, { message: 'not now' }, status)
  const inventory = world.inventory([agents])
  await world.pass(inventory, pause - 1)
  expect(world.asked()).toHaveLength(1)
  await world.pass(inventory, 1)
  expect(world.asked()).toHaveLength(1)
})

it('aborts its request when the daemon stops, and stores no failure', async () => {
  const asked = Promise.withResolvers<undefined>()
  const platform = createServer(() => asked.resolve(undefined))
  const url = `http://127.0.0.1:${await listen(platform)}`
  const store = closeAfterTest(openSqlite(':memory:', { now: () => systemClock.now(), maxSize: 2 ** 30 }))
  const shared = { clock: systemClock, log: silentLog() }
  const client = closeAfterTest(
    createPlatformClient({
      ...{ url, token: () => 'pat-1', tokenType: 'private', concurrency: 1, userAgent: 'Pipespan/test' },
      ...{ budget: createInMemoryBudget({ perMinute: 100 }, systemClock), ...shared },
    }),
  )
  const inventory = createThingReader({
    ...{ things: [agents], instance: url, client, profile: 'generic', repositories: store.repositories, ...shared },
    ...{ lease: createSingleton('inventory', store.leases, systemClock), errors: createErrorThrottle(silentLog()) },
    ...{ redactText: createTextRedaction([]), onEvent: async () => undefined },
  })
  inventory.start()
  await asked.promise
  await inventory.stop()
  expect(await store.repositories.inventoryStates.all()).toEqual([])
})
