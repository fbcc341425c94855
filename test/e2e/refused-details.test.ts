// The shipped daemon with a token that may read pipelines but not their jobs, and with a platform that never answers for them.
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
import { restFaults } from '../support/rest-faults.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { fixture, json, startPlatform } from '../platform/rest/platform-server.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'

const hour = 3_600_000
const count = 60

/** Pipelines that ended within the last hour, and the first webhook of each: that of its end never came. */
function endedPipelines(state: PlatformState, url: () => string): () => Delivery[] {
  const start = Date.now() - hour
  const random = new Random(11)
  const timeline = new Timeline(start)
  const first = new Map<number, Delivery>()
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    const delivery = deliveryOf(news, { instance: url(), newest: true }, random)
    if (delivery.kind === 'pipeline' && !first.has(delivery.pipelineId)) first.set(delivery.pipelineId, delivery)
  })
  return () => {
    for (let at = 0; at < count; at++) lifecycle.create(scenarios.nightly(random))
    timeline.runUntil(start + hour)
    return [...first.values()]
  }
}

describe('pipelines whose jobs the token may not read', () => {
  it.each(['SQLite', 'PostgreSQL'])('are exported with their final status and few requests, on %s', async store => {
    const state = new PlatformState()
    const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token: 'pat-1' }))
    const webhooks = endedPipelines(state, () => api.url)()
    api.misbehave = ({ path }) => (/\/(jobs|bridges)$/.test(path) ? restFaults.missingRole() : undefined)
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      ...(store === 'PostgreSQL' && { PIPESPAN_STORE_URL: await newDatabase() }),
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: 'pat-1',
      PIPESPAN_PLATFORM_BUDGET: '60000',
      PIPESPAN_POLL_PROJECTS: 'brightwater/data/reports',
      PIPESPAN_POLL_INTERVAL: '1s',
      // The first webhook lists jobs that had not run yet: they delay the export up to the deadline.
      PIPESPAN_ENRICH_DEADLINE: '2s',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    const random = new Random(12)
    // Half of them were reported as begun.
    for (const delivery of webhooks.filter((_, at) => at % 2 === 0)) {
      const headers = headersOf(delivery, { headerPrefix: 'X-Service-', instance: api.url }, Date.now(), random)
      expect((await daemon.post(delivery.body, headers)).status).toBe(202)
    }
    const pipelines = () => receiver.spans.filter(({ kind }) => kind === 'server')
    await receiver.until(() => pipelines().length >= count)
    const truth = [...state.pipelines.values()].map(({ id, status }) => `${id} ${status} incomplete`)
    const sent = pipelines().map(({ attributes }) => {
      const mark = attributes['platform.cicd.pipeline.run.incomplete'] === true ? 'incomplete' : 'whole'
      return `${attributes['pipeline.id'] as number} ${attributes['pipeline.status'] as string} ${mark}`
    })
    expect(sent.sort()).toEqual(truth.sort())
    // One request a pipeline, and few more: the first refusals, and pipelines that a round of the poller found again while they were asked for.
    const lists = () =>
      api.asked.filter(({ path, query }) => path.endsWith('/pipelines') && !query.has('source')).length
    const rounds = lists() + 10
    while (lists() < rounds) await new Promise(resolve => setTimeout(resolve, 50))
    expect(api.asked.filter(({ path }) => /\/pipelines\/\d+/.test(path)).length).toBeLessThanOrEqual(3 * count)
    expect(daemon.process.log.filter(({ msg }) => msg.includes('may not read the'))).toHaveLength(2)
    expect((await daemon.stop()).code).toBe(0)
  })
})

describe('a platform that never answers for jobs', () => {
  it('delays the export of a polled pipeline by the deadline', async () => {
    const [item] = fixture('project-pipelines.json') as [Record<string, unknown>]
    const at = new Date().toISOString()
    const pipeline = { ...item, id: 7, created_at: at, updated_at: at, finished_at: at }
    await using platform = await startPlatform((asked, response) => {
      if (asked.path.endsWith('/jobs')) return
      json(asked.path.endsWith('/pipelines') ? [pipeline] : pipeline)(asked, response)
    })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      PIPESPAN_PLATFORM_URL: platform.url,
      PIPESPAN_PLATFORM_TOKEN: 'pat-1',
      PIPESPAN_POLL_PROJECTS: '4711',
      PIPESPAN_ENRICH_DEADLINE: '2s',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    // The request for its jobs is still under way: its time-out is a minute.
    await receiver.until(spans => spans.length === 1)
    expect(receiver.spans[0]?.attributes).toMatchObject({
      'pipeline.id': 7,
      'pipeline.status': 'success',
      'platform.cicd.pipeline.run.incomplete': true,
    })
    expect(platform.asked.filter(({ path }) => path.endsWith('/jobs'))).toHaveLength(1)
    expect((await daemon.stop()).code).toBe(0)
  })
})
