// Tests the demo's own backend over real HTTP.
import { gzipSync } from 'node:zlib'
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { logsRequest, traceRequest } from '../../src/simulator/otlp-messages.ts'
import { DemoReceiver } from '../../src/simulator/receiver.ts'

let receiver: DemoReceiver
let names: string[]
let texts: string[]

beforeEach(async () => {
  receiver = closeAfterTest(await DemoReceiver.start())
  names = []
  texts = []
  receiver.on('received', ({ spans: some, events }) => {
    names.push(...some.map(({ name }) => name))
    texts.push(...events.map(({ name, body, project }) => `${name}: ${body} (${project})`))
  })
})
function spans(name: string): Uint8Array {
  const span = { name, traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1) }
  return traceRequest.encode({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).finish()
}

async function post(body: Uint8Array, headers: Record<string, string> = {}, path = '/v1/traces'): Promise<number> {
  const type = { 'content-type': 'application/x-protobuf' }
  const { status } = await fetch(receiver.url + path, {
    method: 'POST',
    body: Buffer.from(body),
    headers: { ...type, ...headers },
  })
  return status
}

it('emits the spans and events that it receives, plain or gzipped, but no log records of jobs', async () => {
  expect(await post(spans('a'))).toBe(200)
  expect(await post(gzipSync(spans('b')), { 'content-encoding': 'gzip' })).toBe(200)
  const body = { stringValue: 'c' }
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] }
  const logs = [{ resource, scopeLogs: [{ logRecords: [{ body }, { body, eventName: 'deployment' }] }] }]
  expect(await post(logsRequest.encode({ resourceLogs: logs }).finish(), {}, '/v1/logs')).toBe(200)
  expect(names).toEqual(['a', 'b'])
  expect(texts).toEqual(['deployment: c (shop)'])
})

it('emits the title of a notification that it receives', async () => {
  const titles: string[] = []
  receiver.on('message', title => titles.push(title))
  const body = Buffer.from(JSON.stringify({ specversion: '1.0', data: { title: 'shop: main is broken' } }))
  expect(await post(body, { 'content-type': 'application/cloudevents+json' }, '/messages')).toBe(200)
  expect(await post(Buffer.from('no JSON'), {}, '/messages')).toBe(400)
  expect(titles).toEqual(['shop: main is broken'])
})

it('rejects unsupported paths, methods, types and encodings, and invalid protobuf', async () => {
  expect(await post(spans('a'), {}, '/v1/profiles')).toBe(404)
  expect((await fetch(`${receiver.url}/v1/traces`)).status).toBe(405)
  expect(await post(spans('a'), { 'content-type': 'application/json' })).toBe(415)
  expect(await post(spans('a'), { 'content-encoding': 'br' })).toBe(415)
  expect(await post(spans('a'), { 'content-encoding': 'gzip' })).toBe(400)
  expect(await post(Buffer.from([0x0a, 0xff, 0x01]))).toBe(400)
  expect(names).toEqual([])
})
