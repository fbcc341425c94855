import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { rpcStatus } from './backend.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { messageOf } from '../../../src/core/send/backend-message.ts'

const say = (body: string, contentType?: string): string | undefined => messageOf(Buffer.from(body), contentType)

describe("a backend's error message", () => {
  it("takes the backend's message from a google.rpc.Status, even without a content type", () => {
    const { body } = rpcStatus('no such tenant')
    expect(messageOf(body as Uint8Array, 'application/x-protobuf')).toBe('no such tenant')
    expect(messageOf(body as Uint8Array, undefined)).toBe('no such tenant')
  })

  it.each([
    ['{"code":3,"message":"bad span id","details":[]}', 'bad span id'],
    ['{"error":{"code":400,"message":"quota exceeded"}}', 'quota exceeded'],
    ['{"error":"unknown tenant"}', 'unknown tenant'],
    ['{"errors":[{"detail":"too old"},{"detail":"too big"}]}', 'too old; too big'],
    ['{"errors":["one","two"]}', 'one; two'],
    ['"just text"', 'just text'],
    ['{"status":7}', '{"status":7}'],
  ])("finds the backend's message in JSON: %s", (body, message) => {
    expect(say(body, 'application/json')).toBe(message)
  })

  it("uses a web page's title as the backend's message, or else the page's text", () => {
    const page = '<html><head><title>413 Request Entity Too Large</title></head><body><hr>nginx</body></html>'
    expect(say(page, 'text/html')).toBe('413 Request Entity Too Large')
    expect(say('<!DOCTYPE html><body><style>p{}</style><p>Bad   <b>gateway</b></p>')).toBe('Bad gateway')
  })

  it("shortens the backend's message to one line of plain text", () => {
    expect(say('out of\r\n  order\n', 'text/plain')).toBe('out of order')
    expect(say('x'.repeat(1_000))).toHaveLength(301)
    expect(say('')).toBeUndefined()
    expect(say(' \n ')).toBeUndefined()
  })

  it("reduces the backend's message to one line without secrets or control characters, whatever the backend sends", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 400 }),
          fc.json().map(text => Buffer.from(text)),
        ),
        fc.constantFrom('application/x-protobuf', 'application/json', 'text/html', undefined),
        (body, contentType) => {
          const hidden = new Secret('hunter2-secret').reveal()
          const message = messageOf(Buffer.concat([body, Buffer.from(hidden)]), contentType) ?? ''
          expect(message).not.toContain(hidden)
          expect(message.length).toBeLessThanOrEqual(301)
          expect(message).not.toMatch(/\p{Cc}/u)
        },
      ),
    )
  })
})
