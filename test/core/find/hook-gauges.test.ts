// Tests to which project the gauges of a webhook belong.
import { expect, it } from 'vitest'
import { createDeliveryHeaders } from '../../../src/platform/webhook/delivery-headers.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createRedelivery } from '../../../src/core/find/redelivery.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import { hooksOf } from '../../support/rest-hooks.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { openPolledWorld } from './polled-world.ts'

it("assigns a project webhook's gauges to the project, whose facts are requested only in the first round", async () => {
  await using world = await openPolledWorld()
  const { client, store, api } = world
  hooksOf(api).hooks.push({ id: 7, url: 'https://pipespan.example.com/webhooks', owner: { project: 333 } })
  const redelivery = createRedelivery({
    ...{ name: 'redelivery', client, repositories: store.repositories, leases: store.leases, profile: 'generic' },
    ...{ redelivers: false, projects: ['333'], groups: [], publicUrl: 'https://pipespan.example.com' },
    reads: createDeliveryHeaders(profiles.generic, everyEvent),
    ...{ take: async () => 'accepted', onOversize: () => undefined, errors: createErrorThrottle(silentLog()) },
    ...{ clock: { now: () => world.now(), sleep: async () => undefined }, log: silentLog() },
  })
  const owners = async () => (await store.repositories.gaugeReadings.all()).map(({ project }) => project)
  for (let round = 1; round <= 2; round += 1) {
    await redelivery.round()
    expect(await owners()).toMatchObject([{ id: 333, path: 'brightwater/data/reports' }])
  }
  expect(api.asked.filter(({ path }) => path === '/projects/333')).toHaveLength(1)
})
