// The shipped daemon heals what no webhook reported it, of projects that its poller does not look at.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { deliveryOf, headersOf, type Delivery } from '../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'
import type { ReceivedSpan } from '../support/otlp-traces.ts'

const hour = 3_600_000
const over = new Set(['success', 'failed', 'canceled', 'skipped'])

function isEnd({ body }: Delivery): boolean {
  const { object_attributes: reported } = JSON.parse(body) as { object_attributes: { status: string } }
  return over.has(reported.status)
}

function inWords({ kind, attributes }: ReceivedSpan): string {
  const what = kind === 'server' ? 'pipeline' : 'job'
  return `${what} ${attributes[`${what}.id`] as number} ${attributes[`${what}.status`] as string}`
}

/** An hour of nightly pipelines, which is over; and the webhooks of it that arrive: none of an end. */
async function pastHour(api: RestApi, state: PlatformState): Promise<Delivery[]> {
  const start = Date.now() - hour
  const random = new Random(11)
  const timeline = new Timeline(start)
  const reported: Delivery[] = []
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    reported.push(deliveryOf(news, { instance: api.url, newest: true }, random))
  })
  for (let n = 0; n < 6; n++) lifecycle.create(scenarios.nightly(random))
  timeline.runUntil(start + hour)
  return reported.filter(delivery => delivery.kind === 'pipeline' && !isEnd(delivery))
}

describe('pipelines whose last webhook was lost', () => {
  it.each(['SQLite', 'PostgreSQL'])('are looked up in the API and exported once each, on %s', async store => {
    const state = new PlatformState()
    const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token: 'pat-1' }))
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      ...(store === 'PostgreSQL' && { PIPESPAN_STORE_URL: await newDatabase() }),
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: 'pat-1',
      PIPESPAN_POLL_PROJECTS: 'brightwater/shop/storefront',
      PIPESPAN_POLL_INTERVAL: '1s',
      PIPESPAN_SILENT_AFTER: '300ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    const random = new Random(12)
    for (const delivery of await pastHour(api, state)) {
      const headers = headersOf(delivery, { headerPrefix: 'X-Service-', instance: api.url }, Date.now(), random)
      expect((await daemon.post(delivery.body, headers)).status).toBe(202)
    }
    const pipelines = [...state.pipelines.values()]
    const truth = pipelines.flatMap(({ id, status, jobs }) => [
      `pipeline ${id} ${status}`,
      ...jobs.map(job => `job ${job.id} ${job.status}`),
    ])
    await receiver.until(spans => spans.length >= truth.length)
    expect(receiver.spans.map(inWords).sort()).toEqual(truth.sort())
    expect(api.asked.some(({ path }) => path === '/projects/333/pipelines')).toBe(false)
    expect((await daemon.stop()).code).toBe(0)
  })
})
