// Tests the counts on the overview: each states what it counts, and they do not contradict each other.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { createHourWatch } from '../../src/console/overview/last-hour.ts'
import { generatePipeline } from '../support/generate.ts'
import { openHouse } from './house.ts'
import type { ExportQueueStatus } from '../../src/console/exports/columns.ts'
import type { Flow } from '../../src/console/overview/flow.ts'

it('shows on the overview that the backend rejects everything, and what is quarantined', async () => {
  const house = closeAfterTest(await openHouse())
  const post = async (token: string, event: string, body: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-service-event': event, 'x-service-token': token }
    return (await fetch(`${house.daemon.url}/webhooks`, { method: 'POST', body, headers })).status
  }
  const overview = async (): Promise<string> => {
    const page = await (await fetch(house.url)).text()
    return page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  }
  expect(await overview()).toMatch(/Received 0 since the start: none/)
  expect(await post('wrong', 'Pipeline Hook', '{}')).toBe(401)
  const refused = await overview()
  expect(refused).toMatch(/Received 1 .*1 refused Pipelines/)
  expect(refused).toMatch(/Webhooks last accepted never all refused 0 accepted/)
  expect(await post('a-webhook-token', 'Push Hook', '{"object_kind":"push"}')).toBe(200)
  expect(await post('a-webhook-token', 'Pipeline Hook', '{"object_kind":"pipeline"}')).toBe(202)
  const later = await overview()
  expect(later).toMatch(
    /Received 3 since the start last accepted (?:just now|\d+ s ago) 1 not about pipelines 1 quarantined 1 refused Pipelines/,
  )
  expect(later).toMatch(/Webhooks last accepted (?:just now|\d+ s ago) receiving 1 accepted/)
  expect(later).toMatch(/Backend 0 exports delivered since the start/)
})

it('counts the deliveries of the last hour, but only those since the daemon started', async () => {
  const minute = 60_000
  const startedAt = 1_000_000 * minute
  let now = startedAt
  let received = 0
  const flow = { startedAt, accepted: 0, duplicate: 0, ignored: { push_hook: 1 }, refused: [], attempts: 0 }
  const watch = createHourWatch({
    flow: () => ({ ...flow, received }) as unknown as Flow,
    queues: async () => [{ counters: { delivered: 7 } } as unknown as ExportQueueStatus],
    now: () => now,
  })
  received = 5
  expect(await watch.read()).toMatchObject({ since: startedAt, received: 5, ignored: 1, delivered: 7 })
  for (let passed = 0; passed < 90; passed += 1) {
    await watch.sample()
    now += minute
    received += 1
  }
  const hour = await watch.read()
  expect([now - hour.since, hour.received, hour.ignored, hour.delivered]).toEqual([60 * minute, 60, 0, 0])
})

it('links every count on the overview to its list, and separates pipelines from events', async () => {
  const house = closeAfterTest(await openHouse())
  const { deliveries } = generatePipeline(5, 'release')
  await house.deliver(deliveries.slice(0, 12))
  const page = await (await fetch(house.url)).text()
  for (const to of ['/sources#webhooks', '/pipelines?status=running', '/exports']) {
    expect(page).toContain(`href="${to}"`)
  }
  expect(page).not.toContain('No recent events')
  const overview = async (): Promise<unknown> => (await fetch(`${house.url}/api/overview`)).json()
  expect(await overview()).toMatchObject({ active: 1, silentCount: 0, lastHour: { received: 12 } })
  const { views } = house.daemon.store
  const silent = await views.silentInStatus(['running'], Date.now() + 60_000, 5)
  expect([silent.count, silent.runs.length]).toEqual([1, 1])
  expect((await views.silentInStatus(['running'], Date.now() - 60_000, 5)).count).toBe(0)
})

it('counts pipelines that finished in the last hour, even before the daemon started', async () => {
  const house = closeAfterTest(await openHouse())
  await house.live(['branch'], { families: 2, start: Date.now() - 20 * 60_000 })
  const { finished, finishedCount } = (await (await fetch(`${house.url}/api/overview`)).json()) as {
    finished: { finishedAt?: number }[]
    finishedCount: number
  }
  const lately = finished.filter(({ finishedAt = 0 }) => finishedAt >= Date.now() - 3_600_000)
  expect(lately.length).toBeGreaterThan(0)
  expect(finishedCount).toBe(lately.length)
  expect(await (await fetch(house.url)).text()).toContain(`${finishedCount} finished in the last hour`)
})
