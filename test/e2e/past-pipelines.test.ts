// Tests the shipped daemon with thousands of past pipelines to fetch, while webhooks report new ones.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { deliveryOf, headersOf, type Delivery } from '../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'

const hour = 3_600_000
const count = 3_000

describe('thousands of past pipelines found by the poller', () => {
  it.each(['SQLite', 'PostgreSQL'])(
    'exports pipelines from webhooks without delay while it fetches thousands of past ones, on %s',
    async store => {
      const state = new PlatformState()
      const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token: 'pat-1' }))
      const random = new Random(11)
      const timeline = new Timeline(Date.now() - 3 * hour)
      const reported: Delivery[] = []
      let isReported = false
      const lifecycle = new Lifecycle(state, timeline, random, news => {
        if (isReported) reported.push(deliveryOf(news, { instance: api.url, newest: false }, random))
      })
      for (let at = 0; at < count; at++) lifecycle.create(scenarios.nightly(random))
      timeline.runUntil(Date.now() - hour)
      const receiver = closeAfterTest(await OtlpReceiver.start())
      const daemon = await Daemon.start({
        ...(store === 'PostgreSQL' && { PIPESPAN_STORE_URL: await newDatabase() }),
        PIPESPAN_PLATFORM_URL: api.url,
        PIPESPAN_PLATFORM_TOKEN: 'pat-1',
        PIPESPAN_PLATFORM_BUDGET: '300',
        PIPESPAN_POLL_PROJECTS: 'brightwater/data/reports',
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      })
      // All past pipelines are queued. Requesting them takes more than half an hour.
      const lists = () =>
        api.asked.filter(({ path, query }) => path.endsWith('/pipelines') && !query.has('source')).length
      while (lists() < count / 100) await new Promise(resolve => setTimeout(resolve, 50))
      isReported = true
      const fresh = Array.from({ length: 5 }, () => lifecycle.create(scenarios.branch(random)))
      timeline.runUntil(Date.now())
      for (const delivery of reported) {
        const headers = headersOf(delivery, { headerPrefix: 'X-Service-', instance: api.url }, Date.now(), random)
        expect((await daemon.post(delivery.body, headers)).status).toBe(202)
      }
      const pipelines = () => receiver.spans.filter(({ kind }) => kind === 'server')
      const ids = new Set(fresh.map(({ id }) => id))
      const sent = () => pipelines().filter(({ attributes }) => ids.has(attributes['pipeline.id'] as number))
      await receiver.until(() => sent().length === ids.size)
      // The new pipelines arrive with all their details, and before nearly all past ones.
      expect(sent().some(({ attributes }) => 'platform.cicd.pipeline.run.incomplete' in attributes)).toBe(false)
      expect(pipelines().length).toBeLessThan(count / 10)
      // Past pipelines are still being fetched after the new ones have arrived.
      await receiver.until(() => pipelines().length > ids.size)
      expect((await daemon.stop()).code).toBe(0)
    },
  )
})
