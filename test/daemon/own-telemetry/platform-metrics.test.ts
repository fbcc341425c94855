// Tests the whole daemon with a platform API: /metrics shows the daemon's requests to it.
import { hooksOf } from '../../support/rest-hooks.ts'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { deliveryOf, type Delivery } from '../../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../../src/simulator/platform/lifecycle.ts'
import { openHouse } from '../../console/house.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { Timeline } from '../../../src/simulator/platform/timeline.ts'

const publicUrl = 'https://pipespan.example.com'
const minute = 60_000

it('counts the requests of the poller, enrichment and redelivery, and their share of the API budget', async () => {
  const state = new PlatformState()
  const random = new Random(3)
  const timeline = new Timeline(Date.now() - 50 * minute)
  const deliveries: Delivery[] = []
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now() }))
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    deliveries.push(deliveryOf(news, { instance: api.url, newest: true }, random))
  })
  lifecycle.create(scenarios.small(random))
  timeline.runAll()
  const [pipeline] = state.pipelines.values()
  const project = pipeline?.project.id ?? 0
  const hook = { id: 17, url: `${publicUrl}/webhooks`, owner: { project } }
  hooksOf(api).hooks.push(hook)
  // The pipeline's first delivery was lost. This delivery does not report that the pipeline finished, so the finish is new to the poller, whether the
  // poller or the redelivery reads first.
  const missed = deliveries.filter(({ kind }) => kind === 'pipeline').slice(0, 1)
  const headers = { headerPrefix: 'X-Service-', instance: api.url }
  for (const one of missed) hooksOf(api).record(hook, one, 'internal error', headers, Date.now() - minute, random)
  const house = closeAfterTest(
    await openHouse({
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
      PIPESPAN_POLL_PROJECTS: String(project),
      PIPESPAN_POLL_INTERVAL: '1s',
      PIPESPAN_PUBLIC_URL: publicUrl,
      PIPESPAN_REDELIVERY: 'true',
    }),
  )
  const valueOf = async (name: string): Promise<number> => {
    const text = await (await fetch(`${house.url}/metrics`)).text()
    const line = text.split('\n').find(one => one.startsWith(name))
    return Number(line?.split(' ')[1] ?? 0)
  }
  await expect.poll(async () => valueOf('pipespan_poller_rounds_total')).toBeGreaterThan(1)
  await expect.poll(async () => valueOf('pipespan_poller_pipelines_total')).toBe(1)
  await expect.poll(async () => valueOf('pipespan_enrichment_runs_total{outcome="completed"')).toBe(1)
  await expect.poll(async () => valueOf('pipespan_redelivery_deliveries_total{outcome="found"')).toBe(1)
  await expect.poll(async () => valueOf('pipespan_poller_requests_total')).toBeGreaterThan(1)
  await expect.poll(async () => valueOf('pipespan_platform_budget_available')).toBeGreaterThan(0)
  await expect.poll(async () => valueOf('pipespan_platform_requests_total{priority=')).toBeGreaterThan(0)
  expect(await valueOf('pipespan_platform_unauthorized_total')).toBe(0)

  // From now on, the platform treats the token as revoked.
  api.misbehave = restFaults.wrongToken
  await expect.poll(async () => valueOf('pipespan_platform_unauthorized_total')).toBeGreaterThan(0)
})
