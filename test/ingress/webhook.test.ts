// What the ingress answers, and what is then in the inbox.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/lib/fault.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { announce, exchange, openRaw, pour } from '../web/raw-exchange.ts'
import { byToken, open, pipelineBody, runIngress, token } from './running-ingress.ts'

const withToken = { 'x-service-token': token }

describe('what is let in', () => {
  test('a pipeline event is accepted once it is in the inbox, as it came, and the intake is woken', async () => {
    const { post, store, ingress, woken } = await runIngress()
    const answer = await post(pipelineBody, {
      ...withToken,
      'idempotency-key': 'k-1',
      'x-service-instance': 'https://git.example.com',
    })
    expect(answer.status).toBe(202)
    expect(JSON.parse(answer.text)).toEqual({ message: 'Accepted.' })
    const { items } = await store.inbox.lease(10, 1e6, 1000)
    expect(items).toMatchObject([
      { key: 'k-1', event: 'Pipeline Hook', instance: 'https://git.example.com', source: 'webhook' },
    ])
    expect(Buffer.from(items[0]!.body)).toEqual(pipelineBody)
    expect(woken()).toBe(1)
    expect(ingress.counts).toMatchObject({ received: 1, accepted: 1, duplicate: 0 })
  })

  test.each(['Pipeline Hook', 'Job Hook', 'Build Hook', 'System Hook', 'Pipeline events', 'Pipeline', ''])(
    'event header %j goes to the inbox',
    async event => {
      const { post, store } = await runIngress()
      expect((await post(pipelineBody, { ...withToken, 'x-service-event': event })).status).toBe(202)
      expect((await store.inbox.lease(10, 1e6, 1000)).items[0]!.event).toBe(event)
    },
  )

  test('an event header of 4,000 characters is not kept, and the body decides', async () => {
    const { post, store } = await runIngress()
    expect((await post(pipelineBody, { ...withToken, 'x-service-event': 'x'.repeat(4_000) })).status).toBe(202)
    expect((await store.inbox.lease(10, 1e6, 1000)).items[0]!.event).toBe('')
  })

  test('the other spelling of the headers is accepted as well', async () => {
    const { post, store } = await runIngress()
    const headers = {
      'x-service-event': '',
      'x-gitlab-event': 'Job Hook',
      'x-gitlab-token': token,
      'x-gitlab-instance': 'https://x.example',
    }
    expect((await post(pipelineBody, headers)).status).toBe(202)
    expect((await store.inbox.lease(10, 1e6, 1000)).items).toMatchObject([
      { event: 'Job Hook', instance: 'https://x.example' },
    ])
  })

  test.each([
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/vnd.example.v4+json',
    'application/cloudevents+json;charset=UTF-8',
  ])('content type %s is JSON', async type => {
    const { post } = await runIngress()
    expect(
      (await post(pipelineBody, { ...withToken, 'content-type': type, 'content-encoding': 'identity' })).status,
    ).toBe(202)
  })

  test('a body of exactly the limit is accepted, chunked or not; the budget is free again afterwards', async () => {
    const { post, port } = await runIngress({ secrets: open, maxBody: 100_000, maxInFlight: 100_000 })
    const body = `{${' '.repeat(99_998)}}`
    expect((await post(body)).status).toBe(202)
    const chunked = await exchange(port, chunkedRequest([body.slice(0, 60_000), body.slice(60_000)]))
    expect(chunked).toMatch(/^HTTP\/1\.1 202 /)
    expect((await post(body)).status).toBe(202)
  })

  test('keys such as __proto__, deep nesting and odd bytes do not concern the ingress', async () => {
    const { post, store } = await runIngress()
    const bodies = [
      '{"__proto__":{"polluted":1},"constructor":{}}',
      '{"a":'.repeat(50_000) + '}',
      '\n {"broken\u0000": }\r\n\t ',
      '\ufeff{}',
    ]
    for (const body of bodies)
      expect((await post(body, { ...withToken, 'idempotency-key': `__proto__${body.length}` })).status).toBe(202)
    expect((await store.inbox.state()).waiting).toBe(bodies.length)
    expect((await post('{}', { ...withToken, 'x-service-event': '__proto__ Hook' })).status).toBe(200)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('the base path is part of the address', async () => {
    const { post, url, port } = await runIngress({ basePath: '/ci/' })
    expect(url).toMatch(/\/ci$/)
    expect((await post(pipelineBody, withToken)).status).toBe(202)
    expect(await exchange(port, 'POST /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 /,
    )
  })
})

describe('what comes twice, or reports nothing', () => {
  test('the same idempotency key is a duplicate, and the intake sleeps on', async () => {
    const { post, store, ingress, woken } = await runIngress()
    const headers = { ...withToken, 'idempotency-key': 'again' }
    expect((await post(pipelineBody, headers)).status).toBe(202)
    expect(await post('{"other":"body"}', headers)).toMatchObject({
      status: 200,
      message: 'Duplicate delivery.',
    })
    expect((await store.inbox.state()).waiting).toBe(1)
    expect(woken()).toBe(1)
    expect(ingress.counts).toMatchObject({ accepted: 1, duplicate: 1 })
  })

  test('two of one key that arrive at once are one delivery', async () => {
    const { post, store } = await runIngress()
    const headers = { ...withToken, 'idempotency-key': 'twin' }
    const answers = await Promise.all([post(pipelineBody, headers), post(pipelineBody, headers)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 202])
    expect((await store.inbox.state()).waiting).toBe(1)
  })

  test('without an Idempotency-Key the webhook-id distinguishes deliveries; without either nothing does', async () => {
    const { post } = await runIngress()
    const statuses = async (headers: Record<string, string>): Promise<number[]> => [
      (await post(pipelineBody, { ...withToken, ...headers })).status,
      (await post(pipelineBody, { ...withToken, ...headers })).status,
    ]
    expect(await statuses({ 'webhook-id': 'w-1' })).toEqual([202, 200])
    expect(await statuses({ 'webhook-id': 'w-1', 'idempotency-key': 'other' })).toEqual([202, 200])
    expect(await statuses({})).toEqual([202, 202])
  })

  test('a long or odd key is kept as a hash, and still a key', async () => {
    const { post, store } = await runIngress()
    for (const key of ['k'.repeat(8_000), 'two words', 'é']) {
      expect((await post(pipelineBody, { ...withToken, 'idempotency-key': key })).status).toBe(202)
      expect((await post(pipelineBody, { ...withToken, 'idempotency-key': key })).status).toBe(200)
    }
    const { items } = await store.inbox.lease(10, 1e6, 1000)
    for (const { key } of items) expect(key).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  test('known and unknown events of other kinds are answered with 200, counted by kind, and never kept', async () => {
    const { post, store, ingress } = await runIngress()
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
    expect((await store.inbox.state()).waiting).toBe(0)
  })

  test('a huge push event is thrown away without breaking the connection of its sender', async () => {
    const { port } = await runIngress({ maxBody: 1_000_000 })
    const connection = await openRaw(port)
    const event = `X-Service-Event: Push Hook\r\nX-Service-Token: ${token}\r\n`
    connection.socket.write(`POST /webhooks HTTP/1.1\r\nHost: a\r\n${event}Content-Length: 8000000\r\n\r\n`)
    connection.socket.write('x'.repeat(8_000_000))
    connection.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(await connection.closed()).toMatch(/^HTTP\/1\.1 200 [^]*are ignored[^]*HTTP\/1\.1 200 [^]*Alive/)
  })
})

describe('what is refused', () => {
  test.each([
    ['', 'empty'],
    ['   \n', 'blank'],
    ['not JSON', 'text'],
    ['[1]', 'a list'],
    ['{"cut":', 'cut off'],
    ['"{}"', 'a string'],
    ['}{', 'inside out'],
  ])('%j is not JSON-shaped (%s): 400', async body => {
    const { post, store, ingress } = await runIngress()
    expect(await post(body, withToken)).toMatchObject({ status: 400, message: 'The body is not a JSON object.' })
    expect((await store.inbox.state()).waiting).toBe(0)
    expect(ingress.counts.refused.shape).toBe(1)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'text/json',
    'application/json-seq',
    'nonsense',
    '',
  ])('content type %j: 415', async type => {
    const { post, ingress } = await runIngress()
    expect((await post(pipelineBody, { ...withToken, 'content-type': type })).status).toBe(415)
    expect(ingress.counts.refused.type).toBe(1)
  })

  test('a compressed body: 415, whatever it would have become', async () => {
    const { post, ingress } = await runIngress()
    const answer = await post(gzipSync(pipelineBody), { ...withToken, 'content-encoding': 'gzip' })
    expect(answer).toMatchObject({ status: 415, message: 'The body must not be compressed.' })
    expect(ingress.counts.refused.encoding).toBe(1)
  })

  test.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
    '%s: 405 with the methods that are possible',
    async method => {
      const { port } = await runIngress()
      const answer = await exchange(port, `${method} /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 405 /)
      expect(answer).toMatch(/^allow: POST\r$/m)
      expect(answer).toContain(`{"message":"${method} is not allowed here."}`)
    },
  )

  test('30 MB: 413, before they are read', async () => {
    const { port, post, store, ingress } = await runIngress()
    expect(await announce(port, 30_000_000, withToken)).toMatch(
      /^HTTP\/1\.1 413 [^]*{"message":"The body is too large\."}$/,
    )
    expect(ingress.counts.refused.size).toBe(1)
    expect((await store.inbox.state()).waiting).toBe(0)
    expect((await post(pipelineBody, withToken)).status).toBe(202)
  })

  test('30 MB that are sent to the end: every ordinary client reads the 413', async () => {
    const { port, url, post } = await runIngress()
    const refusal = /^HTTP\/1\.1 413 [^]*{"message":"The body is too large\."}$/
    // One that reads nothing before it has sent all, with the token and without.
    expect(await pour(port, 30_000_000, withToken)).toMatch(refusal)
    expect(await pour(port, 30_000_000, {})).toMatch(/^HTTP\/1\.1 401 [^]*}$/)
    const headers = { ...withToken, 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' }
    const body = Buffer.alloc(30_000_000, 0x20)
    const fetched = await fetch(`${url}/webhooks`, { method: 'POST', headers, body })
    expect([fetched.status, await fetched.json()]).toEqual([413, { message: 'The body is too large.' }])
    const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
    // It does not ask first.
    const curl = spawn('curl', ['--silent', '--header', 'Expect:', ...given, '--data-binary', '@-', `${url}/webhooks`])
    const failed = new Promise(resolve => curl.once('error', resolve))
    curl.stdin.on('error', () => undefined).end(body)
    const said = await Promise.race([failed, text(curl.stdout)])
    // A machine without curl is no failure.
    if (typeof said === 'string') expect(said).toBe('{"message":"The body is too large."}')
    expect((await post(pipelineBody, withToken)).status).toBe(202)
  })

  test('a chunked body beyond the limit: 413 as soon as it is beyond', async () => {
    const { port, ingress } = await runIngress({ secrets: open, maxBody: 100_000 })
    const connection = await openRaw(port)
    connection.socket.write(`${chunkedHead}186a0\r\n{${' '.repeat(99_999)}\r\n1\r\n}\r\n`)
    expect(await connection.until(/too large/)).toMatch(
      /^HTTP\/1\.1 413 [^]*connection: close[^]*{"message":"The body is too large\."}$/,
    )
    expect(ingress.counts.refused.size).toBe(1)
    connection.socket.end()
    await connection.closed()
  })

  test('without the token a large body is not read: the answer comes at once, and the connection ends', async () => {
    const { port } = await runIngress()
    const connection = await openRaw(port)
    connection.socket.write(
      'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 25000000\r\n\r\n{',
    )
    expect(await connection.until(/wrong/)).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/)
    // The sender never sends the rest, and is not waited for.
    await connection.closed()
  })

  test('a sender that asks first may go on only when its headers are right', async () => {
    const { port } = await runIngress()
    const head = `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\nExpect: 100-continue\r\n`
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

  test('a sender that goes away in the middle of its body leaves nothing behind, in the inbox or in the budget', async () => {
    const { port, ingress, store, post } = await runIngress({ maxBody: 1_000, maxInFlight: 1_000 })
    const connection = await openRaw(port)
    connection.socket.write(`${jsonHead}X-Service-Token: ${token}\r\nContent-Length: 1000\r\n\r\n{`)
    await expect.poll(() => ingress.counts.received).toBe(1)
    expect(await post(pipelineBody, withToken)).toMatchObject({ status: 503 })
    connection.socket.destroy()
    await expect.poll(() => ingress.counts.refused.incomplete).toBe(1)
    expect((await post(pipelineBody, withToken)).status).toBe(202)
    expect((await store.inbox.state()).waiting).toBe(1)
  })
})

describe('when there is no room', () => {
  test('a body beyond the budget: 503 with Retry-After; one that ends makes room again', async () => {
    const { port, post, ingress } = await runIngress({ maxBody: 60_000, maxInFlight: 100_000 })
    const slow = await openRaw(port)
    slow.socket.write(`${jsonHead}X-Service-Token: ${token}\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n{`)
    slow.socket.write(' '.repeat(40_000))
    await expect.poll(async () => (await post(`{${' '.repeat(50_000)}}`, withToken)).headers['retry-after']).toBe('5')
    expect((await post(`{${' '.repeat(30_000)}}`, withToken)).status).toBe(202)
    slow.socket.write(' '.repeat(19_998) + '}')
    expect(await slow.closed()).toMatch(/^HTTP\/1\.1 202 /)
    expect((await post(`{${' '.repeat(50_000)}}`, withToken)).status).toBe(202)
    expect(ingress.counts.refused.budget).toBe(1)
  })

  test('a chunked body claims as it grows, and is refused when the rest is taken', async () => {
    const { port, post } = await runIngress({ maxBody: 100_000, maxInFlight: 100_000 })
    const first = await openRaw(port)
    first.socket.write(`${jsonHead}X-Service-Token: ${token}\r\nContent-Length: 50000\r\n\r\n{${' '.repeat(30_000)}`)
    await expect.poll(async () => (await post(`{${' '.repeat(60_000)}}`, withToken)).status).toBe(503)
    const second = await openRaw(port)
    second.socket.write(
      `${chunkedHead.slice(0, -2)}X-Service-Token: ${token}\r\n\r\nea60\r\n{${' '.repeat(59_999)}\r\n`,
    )
    expect(await second.until(/in flight/)).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5\r\n/)
    first.socket.destroy()
    second.socket.destroy()
  })

  test('a full store: 503 with Retry-After, and the resend is no duplicate', async () => {
    let full = true
    const real = openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
    const small = openSqlite(':memory:', { now: Date.now, maxSize: 0 })
    const inbox = { put: (...args: Parameters<typeof real.inbox.put>) => (full ? small : real).inbox.put(...args) }
    const { post, ingress } = await runIngress({ store: real, inbox })
    const headers = { ...withToken, 'idempotency-key': 'k' }
    expect(await post(pipelineBody, headers)).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
    full = false
    expect((await post(pipelineBody, headers)).status).toBe(202)
    expect(ingress.counts.refused.full).toBe(1)
    await small.close()
  })

  test('a broken store: 503 with Retry-After and without its words, which are in the log', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: line => lines.push(line) })
    const inbox = { put: () => Promise.reject(new StoreError('The disk /secret/path is gone.', 'Find it.')) }
    const { post, ingress, woken } = await runIngress({ log, inbox })
    const answer = await post(pipelineBody, withToken)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '30' } })
    expect(answer.text).not.toContain('/secret/path')
    expect(lines.join()).toContain('/secret/path')
    expect(ingress.counts.refused.store).toBe(1)
    expect(woken()).toBe(0)
  })
})

describe('what is said of it', () => {
  test('neither an answer nor a log line repeats a secret or the body; one line a minute per reason', async () => {
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

  test('secrets are asked for with every request, so that a changed one counts at once', async () => {
    let secrets = byToken
    const { post } = await runIngress({ secrets: () => secrets })
    expect((await post(pipelineBody, withToken)).status).toBe(202)
    secrets = { tokens: [], signing: byToken.tokens }
    expect((await post(pipelineBody, withToken)).status).toBe(401)
  })
})

const jsonHead = 'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const chunkedHead =
  'POST /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'

function chunkedRequest(chunks: readonly string[]): string {
  return `${chunkedHead}${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}
