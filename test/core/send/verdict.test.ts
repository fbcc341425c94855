import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { partialSuccess, rpcStatus } from './backend.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { blames, sentenceOf, verdictOf, type Answer, type Verdict } from '../../../src/core/send/verdict.ts'

const now = Date.UTC(2026, 5, 1, 12, 0, 0)

function judge(status: number, more: Partial<Extract<Answer, { kind: 'answered' }>> = {}): Verdict {
  return verdictOf({ kind: 'answered', status, body: new Uint8Array(), ...more }, 'traces', now)
}

describe("the verdict on a backend's response", () => {
  it.each([200, 201, 202, 204, 299])('treats status %i as delivered', status => {
    expect(judge(status)).toEqual({ as: 'delivered', rejected: 0 })
  })

  it.each([
    [301, 'other'],
    [302, 'other'],
    [307, 'other'],
    [402, 'other'],
    [404, 'other'],
    [405, 'other'],
    [408, 'other'],
    [409, 'other'],
    [415, 'other'],
    [429, 'throttled'],
    [500, 'server'],
    [501, 'server'],
    [502, 'server'],
    [503, 'server'],
    [504, 'server'],
    [599, 'server'],
  ])('resends exports after status %i', (status, kind) => {
    expect(judge(status)).toMatchObject({ as: 'later', kind, status, outcomeUnknown: false })
  })

  it.each([401, 403])('treats status %i as rejected credentials', status => {
    expect(judge(status)).toMatchObject({ as: 'unauthorized', status })
  })

  it.each([400, 413, 422])('treats status %i as rejected content', status => {
    expect(judge(status)).toMatchObject({ as: 'unacceptable', status })
  })

  it('resends exports after a network failure or a timeout, and reports whether the outcome is unknown', () => {
    const refused = verdictOf({ kind: 'failed', reason: 'ECONNREFUSED', outcomeUnknown: false }, 'traces', now)
    expect(refused).toEqual({ as: 'later', kind: 'unreachable', message: 'ECONNREFUSED', outcomeUnknown: false })
    const late = verdictOf({ kind: 'failed', reason: 'no response within 10 s', outcomeUnknown: true }, 'traces', now)
    expect(late).toMatchObject({ as: 'later', kind: 'unreachable', outcomeUnknown: true })
  })

  it('gives every status exactly one verdict, and retries after unknown statuses', () => {
    const dead = new Set([400, 413, 422])
    // A body with markup may be a web page, which is not a delivery even with the status 200.
    const bodies = fc.uint8Array({ maxLength: 64 }).filter(bytes => !bytes.includes('<'.charCodeAt(0)))
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 999 }), bodies, (status, body) => {
        const { as } = judge(status, { body })
        expect(as === 'unacceptable').toBe(dead.has(status))
        expect(as === 'delivered').toBe(status < 300)
      }),
    )
  })

  it('reads Retry-After in seconds or as a date, up to a day', () => {
    expect(judge(503, { retryAfter: '7' })).toMatchObject({ retryAfterMs: 7_000 })
    expect(judge(429, { retryAfter: 'Mon, 01 Jun 2026 12:00:30 GMT' })).toMatchObject({ retryAfterMs: 30_000 })
    expect(judge(503, { retryAfter: '99999999' })).toMatchObject({ retryAfterMs: 86_400_000 })
    expect(judge(503, { retryAfter: '9'.repeat(400) })).toMatchObject({ retryAfterMs: 86_400_000 })
    expect(judge(503, { retryAfter: 'Mon, 01 Jun 2099 12:00:30 GMT' })).toMatchObject({ retryAfterMs: 86_400_000 })
  })

  it("reads a Retry-After date relative to the backend's clock, however wrong either clock is", () => {
    const date = 'Tue, 11 Mar 2025 08:00:00 GMT'
    expect(judge(503, { date, retryAfter: 'Tue, 11 Mar 2025 08:00:10 GMT' })).toMatchObject({ retryAfterMs: 10_000 })
  })

  it.each(['soon', '-5', '+5', '1e9', '1.5', 'NaN', '', '2026-06-01', 'Mon, 01 Jun 2020 12:00:30 GMT'])(
    'falls back to the back-off if the Retry-After value is unusable: %j',
    value => {
      expect(judge(503, { retryAfter: value })).not.toHaveProperty('retryAfterMs')
    },
  )

  it.each(['Mon, 01 Jun 2026 12:00:30 GMT', 'Monday, 01-Jun-26 12:00:30 GMT', 'Mon Jun  1 12:00:30 2026'])(
    'reads every HTTP date format: %j',
    value => {
      expect(judge(503, { retryAfter: value })).toMatchObject({ retryAfterMs: 30_000 })
    },
  )

  it('blames an export only for 5xx and unknown outcomes', () => {
    const blamed = (verdict: Verdict): boolean => verdict.as === 'later' && blames(verdict)
    expect(blamed(judge(500))).toBe(true)
    expect(blamed(verdictOf({ kind: 'failed', reason: 'cut', outcomeUnknown: true }, 'logs', now))).toBe(true)
    expect(blamed(verdictOf({ kind: 'failed', reason: 'refused', outcomeUnknown: false }, 'logs', now))).toBe(false)
    expect(blamed(judge(429))).toBe(false)
    expect(blamed(judge(404))).toBe(false)
  })

  it("combines the status and the backend's message into one sentence", () => {
    expect(sentenceOf({ status: 503, message: 'overloaded' })).toBe('HTTP 503: overloaded')
    expect(sentenceOf({ message: 'connect ECONNREFUSED' })).toBe('connect ECONNREFUSED')
  })
})

describe("a backend's partial success", () => {
  it('treats a partial success as delivered, with its count and message, in protobuf', () => {
    const { body } = partialSuccess(3, 'span too large')
    const contentType = 'application/x-protobuf'
    for (const signal of ['traces', 'metrics', 'logs'] as const) {
      const answer: Answer = { kind: 'answered', status: 200, contentType, body: body as Uint8Array }
      expect(verdictOf(answer, signal, now)).toEqual({ as: 'delivered', rejected: 3, message: 'span too large' })
    }
  })

  it.each([
    ['traces', 'rejectedSpans'],
    ['metrics', 'rejectedDataPoints'],
    ['logs', 'rejectedLogRecords'],
  ] as const)('also reads a partial success in JSON for %s, with its count as a string', (signal, field) => {
    const body = Buffer.from(JSON.stringify({ partialSuccess: { [field]: '12', errorMessage: 'old' } }))
    const answer: Answer = { kind: 'answered', status: 200, contentType: 'application/json; charset=utf-8', body }
    expect(verdictOf(answer, signal, now)).toEqual({ as: 'delivered', rejected: 12, message: 'old' })
  })

  it('treats a partial success that rejects nothing as a message only', () => {
    const { body } = partialSuccess(0, 'please use gRPC')
    expect(judge(200, { body: body as Uint8Array, contentType: 'application/x-protobuf' })).toEqual({
      as: 'delivered',
      rejected: 0,
      message: 'please use gRPC',
    })
  })

  it('treats every 2xx as delivered, whatever the length and content of its body, unless the body is a web page', () => {
    const types = fc.constantFrom('application/x-protobuf', 'application/octet-stream', undefined)
    fc.assert(
      fc.property(fc.nat(), fc.string({ maxLength: 80 }), types, (rejected, message, contentType) => {
        const body = partialSuccess(rejected, message).body as Uint8Array
        expect(judge(200, { body, contentType })).toMatchObject({ as: 'delivered', rejected })
      }),
    )
    const anyType = fc.constantFrom('application/x-protobuf', 'application/json', 'text/plain', undefined)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), anyType, (body, contentType) => {
        fc.pre(!body.includes(0x3c))
        const verdict = judge(200, { body, contentType })
        expect(verdict.as).toBe('delivered')
        if (verdict.as === 'delivered') expect(Number.isSafeInteger(verdict.rejected)).toBe(true)
      }),
    )
  })
})

describe('a 2xx response that is not from an OTLP receiver', () => {
  const page = '<!DOCTYPE html><html><head><title>Sign in · Example</title></head><body>…</body></html>'

  it.each([
    ['a page', page, 'text/html; charset=utf-8'],
    ['a page without a content type', page, undefined],
    ['a page declared as text', page, 'text/plain'],
    ['a page declared as protobuf', page, 'application/x-protobuf'],
    ['a page after a byte order mark and blank lines', `\uFEFF\r\n\n ${page}`, 'text/html'],
    ['a page that begins with a comment', `<!-- login -->${page}`, undefined],
    ['a page in upper case', page.toUpperCase(), 'TEXT/HTML'],
    ['XHTML', `<?xml version="1.0"?>${page}`, 'application/xhtml+xml'],
    ['text with a link', 'Please <a href="/login">log in</a>.', 'text/html'],
    ['a page in UTF-16', Buffer.from(page, 'utf16le'), 'text/html; charset=utf-16'],
    ['a compressed page', gzipSync(page), 'text/html'],
    ['an XML error of an object store', '<Error><Code>AccessDenied</Code></Error>', 'application/xml'],
  ])('retries exports later if a 2xx response contains a web page or similar content: %s', (_, body, contentType) => {
    for (const status of [200, 201, 202, 203]) {
      const verdict = judge(status, { body: Buffer.from(body as string), contentType })
      expect(verdict).toMatchObject({ as: 'later', kind: 'other', status, outcomeUnknown: false })
      expect('message' in verdict && verdict.message).toMatch(/^a web page answered instead of an OTLP receiver/)
    }
  })

  it.each([
    ['nothing', '', 'text/html; charset=utf-8'],
    ['nothing, without a content type', '', undefined],
    ['JSON', '{}', 'text/html; charset=utf-8'],
    ['JSON with markup', '{"message":"<b>ok</b>"}', 'text/html'],
    ['plain text declared as HTML', 'OK', 'text/html; charset=utf-8'],
    ['plain text', 'ok\n', 'text/plain'],
    ['a comparison', '1 < 2', 'text/plain'],
  ])("does not mistake a lax receiver's 2xx response for a web page if its body is %s", (_, body, contentType) => {
    expect(judge(200, { body: Buffer.from(body), contentType })).toMatchObject({ as: 'delivered', rejected: 0 })
  })

  it.each([200, 400, 401, 415, 505])(
    'retries exports later if the response comes from a gRPC server, and names the port to use: %i',
    status => {
      for (const contentType of ['application/grpc', 'application/grpc+proto', 'application/grpc-web'])
        expect(judge(status, { contentType })).toMatchObject({
          ...{ as: 'later', kind: 'other', status },
          message: 'this is OTLP/gRPC; OTLP/HTTP usually listens at 4318',
        })
    },
  )

  it.each([
    [505, 'gRPC requires HTTP/2\n'],
    [400, 'An HTTP/1.x request was sent to an HTTP/2 only endpoint.'],
  ])('retries exports later if a gRPC server rejects HTTP/1.1 with %i', (status, words) => {
    const verdict = judge(status, { body: Buffer.from(words), contentType: 'text/plain' })
    expect(verdict).toMatchObject({
      as: 'later',
      kind: 'other',
      status,
      message: expect.stringMatching(/4318$/) as string,
    })
  })

  it('treats a notification as delivered even if the response is a web page, because people must not receive it twice', () => {
    const answer: Answer = { kind: 'answered', status: 200, contentType: 'text/html', body: Buffer.from(page) }
    const verdict = verdictOf(answer, 'notifications', now)
    expect(verdict).toMatchObject({ as: 'delivered', rejected: 0 })
    expect('message' in verdict && verdict.message).toMatch(/web page/)
  })
})

describe("a verdict's message", () => {
  it('takes the message from a google.rpc.Status if the backend sends one', () => {
    const { body, headers } = rpcStatus('trace 0af7 is malformed')
    const more = { body: body as Uint8Array, contentType: headers?.['content-type'] }
    expect(judge(400, more)).toEqual({ as: 'unacceptable', status: 400, message: 'trace 0af7 is malformed' })
  })

  it('uses the meaning of the status as the message if the backend sends none', () => {
    expect(judge(413)).toMatchObject({ message: 'Payload Too Large' })
    expect(judge(499)).toMatchObject({ message: 'no reason given' })
  })

  it("never includes a secret that the backend echoes in a verdict's message", () => {
    new Secret('tok-123456')
    const messageOf = (text: string): unknown =>
      verdictOf({ kind: 'answered', status: 401, body: Buffer.from(text) }, 'traces', now)
    expect(messageOf('token tok-123456 is not known')).toMatchObject({ message: 'token [secret] is not known' })
    const encoded = Buffer.from('tok-123456').toString('hex')
    expect(messageOf(`token ${encoded} is not known`)).toMatchObject({
      message: '(left out as a whole, because it contains an encoded [secret])',
    })
  })
})
