// The receiver over real HTTP: what it keeps, what it answers, and every way in which it misbehaves.
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportResponse, rpcStatus, traceRequest } from '../../src/demo/otlp-messages.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'

let receiver: OtlpReceiver

beforeEach(async () => {
  receiver = await OtlpReceiver.start()
})
afterEach(async () => {
  await receiver.close()
})

function spans(...names: string[]): Uint8Array {
  const sent = names.map((name, index) => ({ name, traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, index + 1) }))
  return traceRequest.encode({ resourceSpans: [{ scopeSpans: [{ spans: sent }] }] }).finish()
}

async function post(body: Uint8Array, headers: Record<string, string> = {}, path = '/v1/traces'): Promise<Response> {
  const type = { 'content-type': 'application/x-protobuf' }
  return fetch(receiver.url + path, { method: 'POST', body: Buffer.from(body), headers: { ...type, ...headers } })
}

const names = (): string[] => receiver.spans.map(({ name }) => name)

describe('a receiver that behaves', () => {
  it('keeps what it is sent and answers an empty ExportTraceServiceResponse', async () => {
    const response = await post(spans('a', 'b'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/x-protobuf')
    expect((await response.arrayBuffer()).byteLength).toBe(0)
    expect(names()).toEqual(['a', 'b'])
    expect(receiver.counts).toEqual({ requests: 1, spans: 2, points: 0, logs: 0 })
  })

  it('records path, headers, sizes, span ids and time of every request', async () => {
    const body = spans('a', 'b')
    const before = Date.now()
    await post(gzipSync(body), { 'content-encoding': 'gzip', 'x-tenant': 'blue' })
    const [request] = receiver.requests
    expect(request).toMatchObject({
      path: '/v1/traces',
      signal: 'traces',
      plainSize: body.length,
      size: gzipSync(body).length,
      spanIds: ['01'.repeat(8), '02'.repeat(8)],
      status: 200,
      kept: true,
    })
    expect(request?.headers['x-tenant']).toBe('blue')
    expect(request?.at).toBeGreaterThanOrEqual(before)
  })

  it('serves all three signals', async () => {
    for (const path of ['/v1/traces', '/v1/metrics', '/v1/logs']) {
      expect((await post(new Uint8Array(), {}, path)).status).toBe(200)
    }
    expect(receiver.requests.map(({ signal }) => signal)).toEqual(['traces', 'metrics', 'logs'])
  })

  it('refuses other paths, methods, types, encodings and bytes that are no protobuf, and keeps nothing of them', async () => {
    expect((await post(spans('a'), {}, '/v1/profiles')).status).toBe(404)
    expect((await fetch(`${receiver.url}/v1/traces`)).status).toBe(405)
    expect((await post(spans('a'), { 'content-type': 'application/json' })).status).toBe(415)
    expect((await post(spans('a'), { 'content-encoding': 'br' })).status).toBe(415)
    expect((await post(spans('a'), { 'content-encoding': 'gzip' })).status).toBe(400)
    expect((await post(Buffer.from([0x0a, 0xff, 0x01]))).status).toBe(400)
    expect(receiver.counts.requests).toBe(0)
  })

  it('demands a bearer token, and takes a new one from then on', async () => {
    receiver.demandToken('old')
    expect((await post(spans('a'))).status).toBe(401)
    expect((await post(spans('b'), { authorization: 'Bearer old' })).status).toBe(200)
    receiver.demandToken('new')
    expect((await post(spans('c'), { authorization: 'Bearer old' })).status).toBe(401)
    expect((await post(spans('d'), { authorization: 'Bearer new' })).status).toBe(200)
    expect(names()).toEqual(['b', 'd'])
    expect(receiver.requests.map(({ status }) => status)).toEqual([401, 200, 401, 200])
  })

  it('counts without keeping anything, for long loads', async () => {
    await receiver.close()
    receiver = await OtlpReceiver.start({ keep: false })
    await post(spans('a', 'b'))
    expect(receiver.counts.spans).toBe(2)
    expect([receiver.spans, receiver.requests]).toEqual([[], []])
  })

  it('forgets on demand', async () => {
    await post(spans('a'))
    receiver.clear()
    expect([names(), receiver.requests, receiver.counts.spans]).toEqual([[], [], 0])
  })
})

describe('until', () => {
  it('resolves when the condition holds, at once or after later requests', async () => {
    const waiting = receiver.until(received => received.length >= 2)
    await post(spans('a'))
    await post(spans('b'))
    await waiting
    await receiver.until(received => received.length >= 2)
  })

  it('rejects when nothing more comes, saying what is there', async () => {
    await post(spans('a'))
    await expect(receiver.until(() => false, 20)).rejects.toThrow(/for 20 ms.*1 requests, 1 spans/)
  })

  it('rejects when the receiver is closed', async () => {
    const rejected = expect(receiver.until(() => false)).rejects.toThrow(/closed.*0 requests/)
    await receiver.close()
    await rejected
  })

  it('rejects with what the condition throws', async () => {
    const waiting = receiver.until(received => {
      if (received.length > 0) throw new Error('twice')
      return false
    })
    const rejected = expect(waiting).rejects.toThrow('twice')
    await post(spans('a'))
    await rejected
  })
})

describe('a receiver that misbehaves', () => {
  it('answers any status with headers and body for so many requests, then behaves', async () => {
    const headers = { 'retry-after': '7' }
    receiver.misbehave({ fault: { kind: 'status', status: 503, headers, body: 'later' }, times: 2 })
    const answers = [await post(spans('a')), await post(spans('b')), await post(spans('c'))]
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200])
    expect(answers[0]?.headers.get('retry-after')).toBe('7')
    expect(await answers[0]?.text()).toBe('later')
    expect(names()).toEqual(['c'])
    expect(receiver.requests.map(({ kept }) => kept)).toEqual([false, false, true])
  })

  it('says a status with a google.rpc.Status when no body is given', async () => {
    receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'bad span' } })
    const body = new Uint8Array(await (await post(spans('a'))).arrayBuffer())
    expect(rpcStatus.decode(body)).toMatchObject({ message: 'bad span' })
  })

  it('refuses just the requests for which a predicate holds, until it is stopped', async () => {
    const stop = receiver.misbehave({
      fault: { kind: 'status', status: 400 },
      when: request => request.spans.some(({ name }) => name === 'poison'),
    })
    expect((await post(spans('good'))).status).toBe(200)
    expect((await post(spans('good', 'poison'))).status).toBe(400)
    expect((await post(spans('poison'))).status).toBe(400)
    stop()
    expect((await post(spans('poison'))).status).toBe(200)
  })

  it('says partial success, and keeps the data', async () => {
    receiver.misbehave({ fault: { kind: 'partial', rejected: 2, message: 'too old' }, times: 1 })
    const response = await post(spans('a', 'b', 'c'))
    const body = exportResponse.decode(new Uint8Array(await response.arrayBuffer())).toJSON()
    expect([response.status, body]).toEqual([200, { partialSuccess: { rejected: '2', errorMessage: 'too old' } }])
    expect(names()).toEqual(['a', 'b', 'c'])
  })

  it('hangs: the sender gets no answer', async () => {
    receiver.misbehave({ fault: { kind: 'hang' } })
    const patience = new AbortController()
    const answer = fetch(`${receiver.url}/v1/traces`, {
      method: 'POST',
      body: Buffer.from(spans('a')),
      headers: { 'content-type': 'application/x-protobuf' },
      signal: patience.signal,
    })
    let answered = false
    const sent = answer.then(() => (answered = true))
    await receiver.until((_, { requests }) => requests.length === 1)
    // What was sent after it, and is answered, shows that an answer would have come by now.
    expect((await post(new Uint8Array(), {}, '/v1/unknown')).status).toBe(404)
    expect(answered).toBe(false)
    patience.abort()
    await expect(sent).rejects.toThrow(/aborted/)
    expect([receiver.requests.length, names()]).toEqual([1, []])
  })

  it('drops the connection without keeping the data', async () => {
    receiver.misbehave({ fault: { kind: 'drop' }, times: 1 })
    await expect(post(spans('a'))).rejects.toThrow(/fetch failed/)
    expect(names()).toEqual([])
  })

  it('loses its answer: the data is kept, the sender cannot know', async () => {
    receiver.misbehave({ fault: { kind: 'lost-answer' }, times: 1 })
    await expect(post(spans('a'))).rejects.toThrow(/fetch failed/)
    expect(names()).toEqual(['a'])
    expect(receiver.requests).toMatchObject([{ kept: true, status: undefined }])
  })

  it('is slow', async () => {
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 60, times: 1 })
    const before = performance.now()
    expect((await post(spans('a'))).status).toBe(200)
    expect(performance.now() - before).toBeGreaterThanOrEqual(55)
  })

  it('does one misbehaviour after the other, and none after behave()', async () => {
    receiver.misbehave({ fault: { kind: 'status', status: 503 }, times: 1 })
    receiver.misbehave({ fault: { kind: 'status', status: 429 }, times: 1 })
    receiver.misbehave({ fault: { kind: 'status', status: 401 } })
    const statuses = []
    for (let i = 0; i < 4; i += 1) statuses.push((await post(spans('a'))).status)
    receiver.behave()
    statuses.push((await post(spans('a'))).status)
    expect(statuses).toEqual([503, 429, 401, 401, 200])
  })
})
