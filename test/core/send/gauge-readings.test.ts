// Tests gauges based on the last readings from the platform. The metric flush sends them, and a scrape shows them, until they are too old.
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createMetricFlush } from '../../../src/core/send/metric-flush.ts'
import { createScrapedMetrics } from '../../../src/core/send/scraped-metrics.ts'
import { endpoint } from './bench.ts'
import { openSqlite } from '../../support/stores.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { GaugeReading } from '../../../src/core/store/ports/gauge-documents.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const instance = 'https://git.example.com'
const hour = 3_600_000

let now: number
let store: Store
let receiver: OtlpReceiver
const clock = { ...systemClock, now: () => now }

beforeEach(async () => {
  now = Date.UTC(2026, 5, 1, 13)
  store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
  receiver = closeAfterTest(await OtlpReceiver.start())
})
function agents(path: string, id: number): GaugeReading {
  return {
    ...{ instance, kind: 'agents', of: path, profile: 'gitlab', at: now, goodFor: hour },
    project: { id, path, name: path.slice(path.indexOf('/') + 1) },
    points: [
      { metric: 'platform.agent.count', attributes: {}, value: 2 },
      {
        metric: 'platform.agent.token.last_used',
        attributes: { 'platform.agent.name': 'production' },
        value: { since: now - 90_000 },
      },
    ],
  }
}

async function flushOnce(settings = telemetrySettings({ profiles })): Promise<void> {
  receiver.clear()
  const { totals, repositories, leases } = store
  const flush = createMetricFlush({
    ...{ ...repositories, totals, leases, settings, profile: 'gitlab', interval: 60_000, clock, log: silentLog() },
    destinations: [
      { name: 'default', temporality: 'delta', signals: { metrics: endpoint(`${receiver.url}/v1/metrics`) } },
    ],
  })
  flush.start()
  await flush.finish(60_000)
}

const sent = () =>
  receiver.metrics.map(({ name, points }) => [name, ...points.map(point => 'value' in point && point.value)])

it("sends a gauge under the profile's names, with an age that is computed at send time", async () => {
  await store.repositories.gaugeReadings.put(agents('acme/infra', 7))
  now += 30_000
  await flushOnce()
  expect(sent().slice(-2)).toEqual([
    ['gitlab.agent.count', 2],
    ['gitlab.agent.token.last_used', 120],
  ])
  const { resource, points } = receiver.metrics.at(-1)!
  expect(resource.attributes).toMatchObject({ 'service.name': 'infra', 'service.instance.id': '7' })
  expect(points[0]?.attributes).toEqual({ 'gitlab.agent.name': 'production' })
})

it("sends a group's gauge with the group's name, and a due date as the remaining time", async () => {
  const due = { metric: 'platform.milestone.due', attributes: {}, value: { until: now - 60_000 } }
  const { project: _, ...reading } = agents('acme', 0)
  await store.repositories.gaugeReadings.put({ ...reading, group: 'acme', points: [due] })
  await flushOnce()
  expect(sent().slice(-1)).toEqual([['gitlab.milestone.due', -60]])
  expect(receiver.metrics[0]?.resource.attributes).toMatchObject({ 'service.name': 'acme' })
})

it('stops sending a gauge whose last reading is too old', async () => {
  await store.repositories.gaugeReadings.put(agents('acme/infra', 7))
  now += hour + 1
  await flushOnce()
  expect(sent()).toEqual([])
})

it('shows each gauge with its project in a scrape, except the gauges of hidden projects', async () => {
  await store.repositories.gaugeReadings.put(agents('acme/infra', 7))
  await store.repositories.gaugeReadings.put(agents('acme/secret', 8))
  const scrape = createScrapedMetrics({
    ...{ ...store.repositories, totals: store.totals, profile: 'gitlab', settings: telemetrySettings({ profiles }) },
    scope: { bounds: 'hidden', sees: ({ path }) => path !== 'acme/secret' },
  })
  const metrics = (await scrape()).map(({ metric }) => metric)
  const counts = metrics.find(({ descriptor }) => descriptor.name === 'gitlab.agent.count')
  expect(counts?.dataPoints.map(({ value, attributes }) => [value, attributes])).toEqual([
    [2, expect.objectContaining({ project_path: 'acme/infra', project_id: '7', vcs_owner_name: 'acme' })],
  ])
})
