// Tests which failed deliveries are read from the platform's records, and taken in.
import { describe, expect, it } from 'vitest'
import { delivery, foreign, openRedelivery, own, record } from './redelivery-world.ts'
import { hooksOf } from '../../support/rest-hooks.ts'
import { restFaults, restJson } from '../../support/rest-faults.ts'
import { StoreError } from '../../../src/lib/fault.ts'

describe('reading failed deliveries', () => {
  it('reads only the state of hooks while redelivery is off, and also reads failed deliveries once it is on', async () => {
    await using here = await openRedelivery({ redelivers: false })
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
    await using here = await openRedelivery()
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
      await using here = await openRedelivery()
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
    await using here = await openRedelivery()
    record(here.world, own, '200', delivery(1))
    record(here.world, own, '503', delivery(2))
    record(here.world, own, '401', delivery(3))
    record(here.world, own, 'internal error', delivery(4))
    record(here.world, foreign, '503', delivery(5))
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-2', 'key-3', 'key-4'])
  })

  it('recognises its own hook if parts of its URL are masked', async () => {
    await using here = await openRedelivery()
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
      await using here = await openRedelivery({ publicUrl })
      record(here.world, own, '503', delivery(1))
      record(here.world, foreign, '503', delivery(2))
      await here.redelivery.round()
      expect(here.keys()).toEqual(['key-1'])
    },
  )

  it('reads each failed delivery only once, across restarts and pages', async () => {
    await using here = await openRedelivery()
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
    await using here = await openRedelivery()
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

  it('sends no request for a failed delivery that later arrived', async () => {
    await using here = await openRedelivery()
    const body = Buffer.from(delivery(1).body)
    await here.takeIn.take({ key: 'key-1', event: 'Pipeline Hook', source: 'webhook', body })
    record(here.world, own, 'internal error', delivery(1))
    await here.redelivery.round()
    expect(here.redelivery.counters).toMatchObject({ found: 1, accepted: 0 })
    expect(here.keys()).toEqual([])
  })

  it('polls pipelines whose delivery was too large to be recorded', async () => {
    await using here = await openRedelivery()
    record(here.world, own, '503', delivery(1, JSON.stringify({ object_kind: 'pipeline', pad: 'x'.repeat(2e6) })))
    await here.redelivery.round()
    expect(here.oversize).toEqual([undefined])
    expect(here.keys()).toEqual([])
  })

  it('rereads deliveries that could not be written to the store', async () => {
    await using here = await openRedelivery()
    record(here.world, own, '503', delivery(1))
    here.failWith(new StoreError('It cannot be written.', 'See the disk.'))
    await expect(here.redelivery.round()).rejects.toThrow('It cannot be written.')
    here.failWith(undefined)
    await here.redelivery.round()
    expect(here.keys()).toEqual(['key-1'])
  })

  it('continues reading deliveries after a platform failure', async () => {
    await using here = await openRedelivery()
    for (let id = 1; id <= 150; id++) record(here.world, own, '503', delivery(id))
    here.world.api.misbehave = ({ query }) => (query.get('page') === '2' ? restFaults.broken() : undefined)
    await here.redelivery.round()
    here.world.api.misbehave = () => undefined
    await here.redelivery.round()
    expect(here.keys()).toHaveLength(150)
  })
})
