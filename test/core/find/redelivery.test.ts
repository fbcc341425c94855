import { describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { createRedelivery, type Redelivery } from '../../../src/core/find/redelivery.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { gaugesData } from '../../../src/core/telemetry/metrics/gauges.ts'
import { hookMetrics } from '../../../src/core/find/hook-gauges.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { minute, openPolledWorld, type PolledWorld } from './polled-world.ts'
import { createDeliveryHeaders } from '../../../src/platform/webhook/delivery-headers.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults, restJson } from '../../support/rest-faults.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { StoreError } from '../../../src/lib/fault.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import type { Delivery } from '../../../src/simulator/platform/delivery.ts'
import { takeInOf } from '../../flow/world.ts'
import type { Delivery as TakenDelivery } from '../../../src/core/take-in/take-in.ts'
import { hooksOf, type RestHook } from '../../support/rest-hooks.ts'

const own: RestHook = { id: 7, url: 'https://pipespan.example.com/webhooks', owner: { group: 'brightwater' } }
const foreign: RestHook = { id: 8, url: 'https://chat.example.com/webhooks', owner: { group: 'brightwater' } }

function delivery(
  id: number,
  body = JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id, status: 'running', ref: 'main', created_at: '2026-06-01 12:00:00 UTC' },
    project: { id: 3, path_with_namespace: 'brightwater/shop', web_url: 'https://git.example.com/brightwater/shop' },
  }),
): Delivery {
  return { kind: 'pipeline', at: 0, pipelineId: id, jobId: undefined, key: `key-${id}`, body }
}

function record(world: PolledWorld, hook: RestHook, status: string, one: Delivery): void {
  const options = { headerPrefix: 'X-Service-', instance: world.api.url }
  hooksOf(world.api).record(hook, one, status, options, world.now(), new Random(1))
}

async function open({ redelivers = true, publicUrl = 'https://pipespan.example.com' } = {}) {
  const world = await openPolledWorld()
  hooksOf(world.api).hooks.push(own, foreign)
  const oversize: (string | undefined)[] = []
  const accepted: TakenDelivery[] = []
  let failure: StoreError | undefined
  const takeIn = takeInOf(world.store)
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const again = (how: { redelivers: boolean }): Redelivery =>
    createRedelivery({
      ...how,
      name: 'redelivery',
      client: world.client,
      take: async delivery => {
        if (failure !== undefined) throw failure
        const outcome = await takeIn.take(delivery)
        if (outcome === 'accepted') accepted.push(delivery)
        return outcome
      },
      repositories: world.store.repositories,
      leases: world.store.leases,
      projects: [],
      groups: ['brightwater'],
      publicUrl,
      profile: 'generic',
      reads: createDeliveryHeaders(profiles.generic, everyEvent),
      errors: createErrorThrottle(silentLog()),
      onOversize: project => oversize.push(project),
      clock: { now: () => world.now(), sleep: async () => undefined },
      log,
    })
  const redelivery = again({ redelivers })
  const keys = (): (string | undefined)[] => accepted.map(({ key }) => key).sort()
  return {
    world,
    redelivery,
    again,
    oversize,
    logged,
    takeIn,
    failWith: (error?: StoreError) => (failure = error),
    accepted,
    keys,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe('reading failed deliveries', () => {
  it('reads only the state of hooks while redelivery is off, and also reads failed deliveries once it is on', async () => {
    await using here = await open({ redelivers: false })
    for (const id of [1, 2, 3]) record(here.world, own, '503', delivery(id))
    await here.redelivery.round()
    await here.redelivery.round()
    record(here.world, own, '200', delivery(4))
    await here.redelivery.round()
    expect(here.keys()).toEqual([])
    const [hook] = await here.world.store.repositories.hooks.all()
    expect(hook).toMatchObject({ newest: 0, answers: { 503: 3, 200: 1 } })
    const [reading] = await here.world.store.repositories.gaugeReadings.all()
    expect(reading?.points.map(({ metric }) => metric)).toContain('platform.webhook.delivery.duration')
    const other = here.again({ redelivers: true })
    await other.round()
    expect(here.keys()).toEqual(['key-1', 'key-2', 'key-3'])
    // Each delivery is counted once, even if several rounds read it.
    expect((await here.world.store.repositories.hooks.all())[0]?.answers).toEqual({ 503: 3, 200: 1 })
  })

  it('reads failed deliveries with unknown event names if their bodies are about pipelines', async () => {
    await using here = await open()
    for (const id of [1, 2]) record(here.world, own, '503', delivery(id))
    here.world.api.misbehave = ({ path }, real) => {
      if (!path.endsWith('/events')) return undefined
      const records = JSON.parse(String(real().body)) as { request_headers: Record<string, string> }[]
      return restJson(
        records.map((one, at) => ({
          ...one,
          request_headers: { ...one.request_headers, 'X-Service-Event': ['Pipelines Hook', 'Push Hook'][at] },
        })),
      )
    }
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-1', 'key-2'])
  })

  it.each(['id', 'trigger', 'request_headers', 'request_data', 'response_status', 'execution_duration'])(
    "reads delivery records without the field %s, or logs the field's name",
    async field => {
      await using here = await open()
      record(here.world, own, '503', delivery(1))
      here.world.api.misbehave = ({ path }, real) => {
        if (!path.endsWith('/events')) return undefined
        const records = JSON.parse(String(real().body)) as object[]
        return restJson(records.map(one => Object.fromEntries(Object.entries(one).filter(([name]) => name !== field))))
      }
      await here.redelivery.round()
      const keys = here.keys()
      const isRead = keys.length === 1 || here.oversize.length === 1
      if (!isRead || field === 'request_data') expect(JSON.stringify([here.world.logged, here.logged])).toContain(field)
    },
  )

  it('reads deliveries of its own hook that were rejected or got no response, and none of any other hook', async () => {
    await using here = await open()
    record(here.world, own, '200', delivery(1))
    record(here.world, own, '503', delivery(2))
    record(here.world, own, '401', delivery(3))
    record(here.world, own, 'internal error', delivery(4))
    record(here.world, foreign, '503', delivery(5))
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-2', 'key-3', 'key-4'])
  })

  it('recognises its own hook if parts of its URL are masked', async () => {
    await using here = await open()
    const byPath = { ...own, id: 77, url: 'https://pipespan.example.com/{path}', masked: ['path'] }
    const byHost = { ...own, id: 78, url: 'https://{host}/webhooks', masked: ['host'] }
    const others = { ...own, id: 79, url: 'https://{host}/{path}', masked: ['host', 'path'] }
    const all = [byPath, byHost, others]
    hooksOf(here.world.api).hooks.splice(0, Infinity, ...all)
    for (const [index, hook] of all.entries()) record(here.world, hook, '503', delivery(index))
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-0', 'key-1'])
  })

  it.each(['https://pipespan.example.com//', 'HTTPS://Pipespan.Example.com', 'https://pipespan.example.com/webhooks/'])(
    'recognises its own hook by the public URL %s',
    async publicUrl => {
      await using here = await open({ publicUrl })
      record(here.world, own, '503', delivery(1))
      record(here.world, foreign, '503', delivery(2))
      await here.redelivery.round()
      expect(here.keys()).toEqual(['key-1'])
    },
  )

  it('reads each failed delivery only once, across restarts and pages', async () => {
    await using here = await open()
    for (let id = 1; id <= 250; id++) record(here.world, own, id % 2 === 0 ? '503' : '200', delivery(id))
    await here.redelivery.round()
    expect(here.keys()).toHaveLength(125)
    here.accepted.length = 0
    here.world.api.asked.length = 0
    await here.redelivery.round()
    expect(here.world.api.asked).toHaveLength(2)
    record(here.world, own, '503', delivery(999))
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-999'])
  })

  it('stores no pipeline variable except a valid traceparent', async () => {
    await using here = await open()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const variables = [
      { key: 'DEPLOY_PASSWORD', value: 'planted-value' },
      { key: 'TRACEPARENT', value: traceparent },
      { key: 'CI_DEBUG_TRACE', value: 'TRUE' },
    ]
    const body = JSON.stringify({
      object_kind: 'pipeline',
      object_attributes: { id: 1, variables },
      variables: 'planted-value',
    })
    record(here.world, own, '503', delivery(1, body))
    await here.redelivery.round()
    expect(here.accepted.map(one => JSON.parse(Buffer.from(one.body).toString()) as unknown)).toEqual([
      {
        object_kind: 'pipeline',
        object_attributes: {
          id: 1,
          variables: [
            { key: 'TRACEPARENT', value: traceparent },
            { key: 'CI_DEBUG_TRACE', value: 'true' },
          ],
        },
        variables: [],
      },
    ])
  })

  it('exports the state of each hook, and the duration of each delivery once, across restarts', async () => {
    await using here = await open()
    const settings = telemetrySettings({ profiles, gauges: hookMetrics })
    const shown = async () => {
      const [reading] = await here.world.store.repositories.gaugeReadings.all()
      const [state, took] = gaugesData(reading!, here.world.now(), settings)
      const [point] = took?.points ?? []
      return {
        whose: reading?.group,
        states: state?.points.map(({ attributes, value }) => [attributes['platform.webhook.state'], value]),
        ...{ took: took?.head.type, value: point?.value, start: point?.start },
      }
    }
    for (const id of [1, 2, 3]) record(here.world, own, '200', delivery(id))
    await here.redelivery.round()
    const began = here.world.now()
    const enabled = [
      ['executable', 1],
      ['temporarily_disabled', 0],
      ['disabled', 0],
    ]
    const first = { whose: 'brightwater', states: enabled, took: 'histogram', start: began }
    expect(await shown()).toMatchObject({ ...first, value: { counts: [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0] } })
    await here.world.pass(minute)
    record(here.world, own, '503', delivery(4))
    await here.redelivery.round()
    await here.redelivery.round()
    const { value } = await shown()
    expect(await shown()).toMatchObject({ ...first, value: { counts: [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0] } })
    expect((value as { sum: number }).sum).toBeCloseTo(0.8)
    const off = {
      id: 7,
      url: own.url,
      pipeline_events: true,
      job_events: true,
      alert_status: 'disabled',
      disabled_until: null,
    }
    here.world.api.misbehave = ({ path }) =>
      path.endsWith('/hooks') ? { status: 200, headers: {}, body: JSON.stringify([off]) } : undefined
    await here.redelivery.round()
    expect((await shown()).states).toEqual([
      ['executable', 0],
      ['temporarily_disabled', 0],
      ['disabled', 1],
    ])
  })

  it('stores when each hook last delivered, and what responses its deliveries got', async () => {
    await using here = await open()
    const remembered = async () => here.world.store.repositories.hooks.all()
    for (const [id, status] of ['200', '200', '503', 'internal error'].entries()) {
      record(here.world, own, status, delivery(id + 1))
    }
    await here.redelivery.round()
    const reported = { kind: 'group', owner: 'brightwater', state: 'executable', lastDeliveryAt: here.world.now() }
    expect(await remembered()).toMatchObject([{ ...reported, answers: { 200: 2, 503: 1, 'no answer': 1 } }])
    await here.world.pass(minute)
    await here.redelivery.round()
    expect(await remembered()).toMatchObject([{ ...reported, answers: { 200: 2, 503: 1, 'no answer': 1 } }])
    record(here.world, own, '200', delivery(9))
    await here.redelivery.round()
    const last = here.world.now()
    expect(await remembered()).toMatchObject([{ lastDeliveryAt: last, answers: { 200: 3 } }])
    // The hook was disabled when it was last read. Now its state changes, but there are no new deliveries.
    const [hook] = await remembered()
    await here.world.store.repositories.hooks.put({ ...hook!, state: 'disabled' })
    await here.world.pass(minute)
    await here.redelivery.round()
    expect(await remembered()).toMatchObject([{ state: 'executable', lastDeliveryAt: last }])
  })

  it('sends no request for a failed delivery that later arrived', async () => {
    await using here = await open()
    const body = Buffer.from(delivery(1).body)
    await here.takeIn.take({ key: 'key-1', event: 'Pipeline Hook', source: 'webhook', body })
    record(here.world, own, 'internal error', delivery(1))
    await here.redelivery.round()
    expect(here.redelivery.counters).toMatchObject({ found: 1, accepted: 0 })
    expect(here.keys()).toEqual([])
  })

  it('polls pipelines whose delivery was too large to be recorded', async () => {
    await using here = await open()
    record(here.world, own, '503', delivery(1, JSON.stringify({ object_kind: 'pipeline', pad: 'x'.repeat(2e6) })))
    await here.redelivery.round()
    expect(here.oversize).toEqual([undefined])
    expect(here.keys()).toEqual([])
  })

  it('rereads deliveries that could not be written to the store', async () => {
    await using here = await open()
    record(here.world, own, '503', delivery(1))
    here.failWith(new StoreError('It cannot be written.', 'See the disk.'))
    await expect(here.redelivery.round()).rejects.toThrow('It cannot be written.')
    here.failWith(undefined)
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-1'])
  })

  it('continues reading deliveries after a platform failure', async () => {
    await using here = await open()
    for (let id = 1; id <= 150; id++) record(here.world, own, '503', delivery(id))
    here.world.api.misbehave = ({ query }) => (query.get('page') === '2' ? restFaults.broken() : undefined)
    await here.redelivery.round()
    here.world.api.misbehave = () => undefined
    await here.redelivery.round()
    expect(here.keys()).toHaveLength(150)
  })
})
