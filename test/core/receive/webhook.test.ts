// Tests the ingress's responses, and the contents of the store afterwards.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/lib/fault.ts'
import { openSqlite } from '../../support/stores.ts'
import { takeInOf } from '../../flow/world.ts'
import { exchange, openRaw, pour } from '../../daemon/listeners/raw-exchange.ts'
import { byToken, open, pipelineBody, runIngress, token } from './running-ingress.ts'

const withToken = { 'x-service-token': token }

describe('an accepted delivery', () => {
  test('responds to a delivery only after its run is in the store', async () => {
    const { post, store, accepted, ingress } = await runIngress()
    const answer = await post(pipelineBody, {
      ...withToken,
      'idempotency-key': 'k-1',
      'x-service-instance': 'https://git.example.com',
    })
    expect(answer.status).toBe(202)
    expect(JSON.parse(answer.text)).toEqual({ message: 'Accepted.' })
    expect(accepted).toMatchObject([
      { key: 'k-1', event: 'Pipeline Hook', instance: 'https://git.example.com', source: 'webhook' },
    ])
    expect(await store.runs.get({ instance: 'https://git.example.com', pipelineId: 31 })).toBeDefined()
    expect(ingress.counts).toMatchObject({ received: 1, accepted: 1, duplicate: 0 })
  })

  test('classifies a delivery by its body if its event header has 4,000 characters', async () => {
    const { post, accepted } = await runIngress()
    expect((await post(pipelineBody, { ...withToken, 'x-service-event': 'x'.repeat(4_000) })).status).toBe(202)
    expect(accepted[0]?.event).toBe('')
  })

  test('accepts a delivery of exactly the maximum size, chunked or not, and frees its share of the byte budget for the next one', async () => {
    const { post, port } = await runIngress({ secrets: open, maxBody: 100_000, waiting: waitingUpTo(100_000) })
    const body = `{${' '.repeat(99_998)}}`
    expect((await post(body)).status).toBe(202)
    const chunked = await exchange(port, chunkedRequest([body.slice(0, 60_000), body.slice(60_000)]))
    expect(chunked).toMatch(/^HTTP\/1\.1 202 /)
    expect((await post(body)).status).toBe(202)
  })
})

describe('a duplicate or irrelevant delivery', () => {
  test('treats a delivery with a known idempotency key as a duplicate, whatever its body contains', async () => {
    const { post, accepted, ingress } = await runIngress()
    const headers = { ...withToken, 'idempotency-key': 'again' }
    expect((await post(pipelineBody, headers)).status).toBe(202)
    expect(await post(pipelineBody.toString().replace('running', 'failed'), headers)).toMatchObject({
      status: 200,
      message: 'Duplicate delivery.',
    })
    expect(accepted).toHaveLength(1)
    expect(ingress.counts).toMatchObject({ accepted: 1, duplicate: 1 })
  })

  test('deduplicates by the Idempotency-Key or else by the webhook-id, and by nothing else', async () => {
    const { post } = await runIngress()
    const statuses = async (headers: Record<string, string>): Promise<number[]> => [
      (await post(pipelineBody, { ...withToken, ...headers })).status,
      (await post(pipelineBody, { ...withToken, ...headers })).status,
    ]
    expect(await statuses({ 'webhook-id': 'w-1' })).toEqual([202, 200])
    expect(await statuses({ 'webhook-id': 'w-1', 'idempotency-key': 'other' })).toEqual([202, 200])
    expect(await statuses({})).toEqual([202, 202])
  })

  test('deduplicates by the hash of the idempotency key if the key is long or has unusual characters', async () => {
    const { post, accepted } = await runIngress()
    for (const key of ['k'.repeat(8_000), 'two words', 'é']) {
      expect((await post(pipelineBody, { ...withToken, 'idempotency-key': key })).status).toBe(202)
      expect((await post(pipelineBody, { ...withToken, 'idempotency-key': key })).status).toBe(200)
    }
    for (const { key } of accepted) expect(key).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  test('responds with 200 to an event of a kind that it does not process, counts it by kind, and never stores it', async () => {
    const { post, accepted, ingress } = await runIngress()
    for (const event of [
      'Push Hook',
      'Tag Push Hook',
      'Merge Request Hook',
      'Deployment Hook',
      'Push Hook',
      'Weather Hook',
      `${'x'.repeat(4_000)} Hook`,
    ]) {
      const answer = await post('not even JSON', {
        ...withToken,
        'x-service-event': event,
        'content-type': 'text/plain',
      })
      expect(answer).toMatchObject({ status: 200, message: 'Events of this kind are ignored.' })
    }
    expect(ingress.counts.ignored).toEqual({ push: 2, tag_push: 1, merge_request: 1, deployment: 1, unknown: 2 })
    expect(accepted).toHaveLength(0)
  })
})

describe('a rejected delivery', () => {
  test.each([
    ['', 'empty'],
    ['   \n', 'blank'],
    ['not JSON', 'text'],
    ['[1]', 'a list'],
    ['{"cut":', 'cut off'],
    ['"{}"', 'a string'],
    ['}{', 'inside out'],
  ])('responds with 400 if the body %j is not a JSON document (%s)', async body => {
    const { post, accepted, ingress } = await runIngress()
    expect(await post(body, withToken)).toMatchObject({ status: 400, message: 'The body is not a JSON object.' })
    expect(accepted).toHaveLength(0)
    expect(ingress.counts.refused.shape).toBe(1)
  })

  test.each([
    ['application/json; charset=utf-8', 202],
    ['Application/JSON', 202],
    ['application/cloudevents+json;charset=UTF-8', 202],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonp', 415],
    ['text/json', 415],
    ['', 415],
  ])('checks the content type of a delivery: the response to %j is %i', async (type, status) => {
    const { post, ingress } = await runIngress()
    expect((await post(pipelineBody, { ...withToken, 'content-type': type })).status).toBe(status)
    expect(ingress.counts.refused.type).toBe(status === 415 ? 1 : 0)
  })

  test('responds to a compressed body with 415', async () => {
    const { post, ingress } = await runIngress()
    const answer = await post(gzipSync(pipelineBody), { ...withToken, 'content-encoding': 'gzip' })
    expect(answer).toMatchObject({ status: 415, message: 'The body must not be compressed.' })
    expect(ingress.counts.refused.encoding).toBe(1)
  })

  test('responds to a body of 30 MB with a 413 that ordinary clients can read, even if they send the whole body', async () => {
    const { port, url, post } = await runIngress()
    const refusal = /^HTTP\/1\.1 413 [^]*{"message":"The body is too large\."}$/
    // This client reads nothing until it has sent the whole body. It is tested with and without the token.
    expect(await pour(port, 30_000_000, withToken)).toMatch(refusal)
    expect(await pour(port, 30_000_000, {})).toMatch(/^HTTP\/1\.1 401 [^]*}$/)
    expect(await pour(port, 30_000_000, { connection: 'close' })).toMatch(/^HTTP\/1\.1 401 [^]*}$/)
    const headers = { ...withToken, 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' }
    const body = Buffer.alloc(30_000_000, 0x20)
    const fetched = await fetch(`${url}/webhooks`, { method: 'POST', headers, body })
    expect([fetched.status, await fetched.json()]).toEqual([413, { message: 'The body is too large.' }])
    const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
    // Without an Expect header, curl sends the body without waiting for permission.
    const curl = spawn('curl', ['--silent', '--header', 'Expect:', ...given, '--data-binary', '@-', `${url}/webhooks`])
    const failed = new Promise(resolve => curl.once('error', resolve))
    curl.stdin.on('error', () => undefined).end(body)
    const output = await Promise.race([failed, text(curl.stdout)])
    // If curl is not installed, the test does not fail.
    if (typeof output === 'string') expect(output).toBe('{"message":"The body is too large."}')
    expect((await post(pipelineBody, withToken)).status).toBe(202)
  })

  test('responds with 413 if a chunked body exceeds the maximum', async () => {
    const { port, ingress } = await runIngress({ secrets: open, maxBody: 100_000 })
    const answer = await exchange(port, chunkedRequest([`{${' '.repeat(99_999)}`, '}', '}']))
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*{"message":"The body is too large\."}$/)
    expect(ingress.counts.refused.size).toBe(1)
  })

  test('lets a sender that uses Expect: 100-continue continue only if its headers are valid', async () => {
    const { port } = await runIngress()
    const head = `POST /webhooks HTTP/1.1\r\nHost: a\r\n${eventHead}Content-Length: 2\r\nConnection: close\r\nExpect: 100-continue\r\n`
    const refused = await openRaw(port)
    refused.socket.write(`${head}\r\n`)
    expect(await refused.until(/wrong/)).toMatch(/^HTTP\/1\.1 401 /)
    refused.socket.destroy()
    const admitted = await openRaw(port)
    admitted.socket.write(`${head}X-Service-Token: ${token}\r\n\r\n`)
    await admitted.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
    admitted.socket.write('{}')
    expect(await admitted.closed()).toMatch(/HTTP\/1\.1 202 /)
  })

  test('stores nothing of a delivery whose sender disconnects in the middle of the body, and frees its share of the byte budget', async () => {
    const { port, ingress, accepted, post } = await runIngress({ maxBody: 1_000, waiting: waitingUpTo(1_000) })
    const connection = await openRaw(port)
    connection.socket.write(`${jsonHead}X-Service-Token: ${token}\r\nContent-Length: 1000\r\n\r\n{${' '.repeat(998)}`)
    await expect.poll(async () => (await post(pipelineBody, withToken)).status).toBe(503)
    const before = accepted.length
    connection.socket.destroy()
    await expect.poll(() => ingress.counts.refused.incomplete).toBe(1)
    expect((await post(pipelineBody, withToken)).status).toBe(202)
    expect(accepted).toHaveLength(before + 1)
  })
})

describe('a delivery for which there is no room', () => {
  test('rejects a delivery beyond the byte budget with 503 and Retry-After, whether its length is announced or not, until another one ends', async () => {
    const { port, post } = await runIngress({ maxBody: 60_000, waiting: waitingUpTo(100_000) })
    const slow = await openRaw(port)
    slow.socket.write(`${jsonHead}X-Service-Token: ${token}\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n{`)
    slow.socket.write(' '.repeat(50_000))
    const large = `{${' '.repeat(50_000)}}`
    await expect.poll(async () => (await post(large, withToken)).headers['retry-after']).toBe('5')
    const chunked = await openRaw(port)
    chunked.socket.write(
      `${chunkedHead.slice(0, -2)}X-Service-Token: ${token}\r\n\r\ndac0\r\n${large.padEnd(56_000)}\r\n`,
    )
    chunked.socket.write('0\r\n\r\n')
    expect(await chunked.until(/}$/)).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5\r\n/)
    chunked.socket.destroy()
    expect((await post(`{${' '.repeat(30_000)}}`, withToken)).status).toBe(202)
    slow.socket.write(' '.repeat(9_998) + '}')
    expect(await slow.closed()).toMatch(/^HTTP\/1\.1 202 /)
    expect((await post(large, withToken)).status).toBe(202)
  })

  test('responds with 503 and Retry-After if the store is full, and does not treat the retried delivery as a duplicate', async () => {
    let full = true
    const store = openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
    const takeIn = takeInOf({ ...store, isFull: async () => full })
    const { post, ingress } = await runIngress({ store, take: async delivery => takeIn.take(delivery) })
    const headers = { ...withToken, 'idempotency-key': 'k' }
    expect(await post(pipelineBody, headers)).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
    full = false
    expect((await post(pipelineBody, headers)).status).toBe(202)
    expect(ingress.counts.refused.full).toBe(1)
  })

  test('responds with 503 and Retry-After if the store fails, and reports the error only in the log', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: line => lines.push(line) })
    const store = openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
    const gone = (): Promise<never> => Promise.reject(new StoreError('The disk /mnt/store is gone.', 'Find it.'))
    const takeIn = takeInOf({ ...store, runs: { ...store.runs, takeIn: gone } })
    const { post, ingress, accepted } = await runIngress({ log, store, take: async delivery => takeIn.take(delivery) })
    const answer = await post(pipelineBody, withToken)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '30' } })
    expect(answer.text).not.toContain('/mnt/store')
    expect(lines.join()).toContain('/mnt/store')
    expect(ingress.counts.refused.store).toBe(1)
    expect(accepted).toEqual([])
  })
})

describe("the ingress's responses and log lines", () => {
  test('never writes a secret or the body to a response or the log, and logs each reason at most once a minute', async () => {
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: line => lines.push(line) })
    let now = Date.now()
    const { post, ingress } = await runIngress({ log, now: () => now })
    const texts: string[] = []
    const attempt = async (body: string, headers: Record<string, string>): Promise<void> => {
      texts.push((await post(body, headers)).text)
    }
    for (let i = 0; i < 5; i += 1) await attempt('{"v":"payload-word"}', { 'x-service-token': 'guessed-word' })
    now += 60_000
    await attempt('{"v":"payload-word"}', { 'x-service-token': 'guessed-word' })
    await attempt('payload-word', withToken)
    await attempt('{"v":"payload-word"}', withToken)
    const warnings = lines.map(line => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => level === 40)
    expect(warnings).toMatchObject([
      { reason: 'token', leftOut: 0, status: 401, remote: '127.0.0.1', requestId: expect.any(String) as string },
      { reason: 'token', leftOut: 4 },
      { reason: 'shape', leftOut: 0 },
    ])
    expect(ingress.counts).toMatchObject({ received: 8, accepted: 1, refused: { token: 6, shape: 1 } })
    for (const text of [...texts, ...lines]) expect(text).not.toMatch(/payload-word|guessed-word|horse/)
  })

  test('picks up changed webhook secrets at once', async () => {
    let secrets = byToken
    const { post } = await runIngress({ secrets: () => secrets })
    expect((await post(pipelineBody, withToken)).status).toBe(202)
    secrets = { tokens: [], signing: byToken.tokens }
    expect((await post(pipelineBody, withToken)).status).toBe(401)
  })
})

const waitingUpTo = (bytes: number) => ({ total: bytes, unproven: bytes })
const eventHead = 'Content-Type: application/json\r\nX-Service-Event: Pipeline Hook\r\n'
const jsonHead = `POST /webhooks HTTP/1.1\r\nHost: a\r\n${eventHead}`
const chunkedHead = `POST /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${eventHead}Transfer-Encoding: chunked\r\n\r\n`

function chunkedRequest(chunks: readonly string[]): string {
  return `${chunkedHead}${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}
