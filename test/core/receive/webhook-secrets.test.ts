// Tests which webhook deliveries are accepted: with a token, a signature, both, or several of them, including wrong and old ones.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../../src/lib/secret.ts'
import { exchange } from '../../daemon/listeners/raw-exchange.ts'
import {
  byBoth,
  bySignature,
  byToken,
  open,
  pipelineBody,
  runIngress,
  signed,
  signingSecret,
  token,
} from './running-ingress.ts'
import { runs } from '../../full.ts'

const body = pipelineBody
const otherSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const withToken = { 'x-service-token': token }
const minute = 60_000

describe("a webhook delivery's token", () => {
  test.each([
    ['missing', {}],
    ['blank', { 'x-service-token': ' ' }],
    ['wrong', { 'x-service-token': 'guess' }],
    ['its beginning', { 'x-service-token': token.slice(0, -1) }],
    ['longer', { 'x-service-token': `${token}x` }],
    ['in another case', { 'x-service-token': token.toUpperCase() }],
    ['in another header', { authorization: `Bearer ${token}` }],
  ])('rejects a webhook token with 401: %s', async (_name, headers) => {
    const { post, accepted, ingress } = await runIngress({ secrets: byToken })
    expect(await post(body, headers as Record<string, string>)).toMatchObject({
      status: 401,
      message: 'The secret token is missing or wrong.',
    })
    expect(ingress.counts.refused.token).toBe(1)
    expect(accepted).toHaveLength(0)
  })

  test('rejects a delivery with two tokens with 401, even if one of them is right', async () => {
    const { port } = await runIngress({ secrets: byToken })
    const head = `POST /webhooks HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n`
    expect(await exchange(port, `${head}X-Service-Token: ${token}\r\nX-Service-Token: b\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 401 /,
    )
  })

  test('accepts any of several configured tokens, all of which are compared in constant time', async () => {
    const compared: string[] = []
    class Watched extends Secret {
      override equals(candidate: string): boolean {
        compared.push(this.reveal())
        return super.equals(candidate)
      }
    }
    const tokens = ['old', 'new', 'next'].map(value => new Watched(value))
    const { post } = await runIngress({ secrets: { tokens, signing: bySignature.signing } })
    for (const value of ['old', 'new', 'next', 'none']) {
      compared.length = 0
      expect((await post(body, { 'x-service-token': value })).status).toBe(value === 'none' ? 401 : 202)
      expect(compared).toEqual(['old', 'new', 'next'])
      compared.length = 0
      expect((await post(body, { 'x-service-token': value, ...signed(body, { id: value }) })).status).toBe(202)
      expect(compared).toEqual(['old', 'new', 'next'])
    }
  })

  test('compares a webhook token as UTF-8 if it has non-ASCII characters', async () => {
    const { post } = await runIngress({ secrets: { tokens: [new Secret('geheim-für-ß')], signing: [] } })
    const onTheWire = Buffer.from('geheim-für-ß').toString('latin1')
    expect((await post(body, { 'x-service-token': onTheWire })).status).toBe(202)
  })

  test('requires no token if no webhook secret is configured', async () => {
    const { post } = await runIngress({ secrets: open })
    expect((await post(body)).status).toBe(202)
    expect((await post(body, { 'x-service-token': 'whatever', ...signed(body, { secret: otherSecret }) })).status).toBe(
      202,
    )
  })
})

describe("a webhook delivery's signature", () => {
  test('accepts a signature over the raw body, and treats a second delivery with the same ID as a duplicate', async () => {
    const { post, accepted } = await runIngress({ secrets: bySignature })
    const spaced = Buffer.from(`${body.toString().replace('main', 'späte  Schicht ✓')}\n`)
    expect((await post(spaced, signed(spaced))).status).toBe(202)
    expect((await post(spaced, signed(spaced))).status).toBe(200)
    expect(accepted).toMatchObject([{ key: 'd1' }])
  })

  test.each([
    ['of another secret', signed(body, { secret: otherSecret })],
    ['of another body', signed('{}')],
    ['of another id', { ...signed(body), 'webhook-id': 'd2' }],
    ['of another time', { ...signed(body), 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 1) }],
    ['without an id', { ...signed(body), 'webhook-id': '' }],
    ['with a full stop in its id', signed(body, { id: 'd.1' })],
    ['empty', { ...signed(body), 'webhook-signature': '' }],
    [
      'of another version',
      { ...signed(body), 'webhook-signature': signed(body)['webhook-signature'].replace('v1,', 'v1a,') },
    ],
    ['cut off', { ...signed(body), 'webhook-signature': signed(body)['webhook-signature'].slice(0, -3) }],
    ['of nothing', { ...signed(body), 'webhook-signature': 'v1,' }],
    ['absent', {}],
  ])('rejects a wrong signature with 401: %s', async (_name, headers) => {
    const { post, accepted, ingress } = await runIngress({ secrets: bySignature })
    expect(await post(body, headers)).toMatchObject({ status: 401, message: 'The signature is missing or wrong.' })
    expect(ingress.counts.refused.signature).toBe(1)
    expect(accepted).toHaveLength(0)
  })

  // The delivery is signed just before it is sent, because the test may run minutes after its file was loaded.
  test.each([
    ['6 minutes old', () => signed(body, { at: Date.now() - 6 * minute })],
    ['6 minutes ahead', () => signed(body, { at: Date.now() + 6 * minute })],
    ['missing', () => ({ ...signed(body), 'webhook-timestamp': '' })],
    ['no number', () => ({ ...signed(body), 'webhook-timestamp': 'now' })],
    ['a number and more', () => ({ ...signed(body), 'webhook-timestamp': `${signed(body)['webhook-timestamp']}x` })],
    ['in milliseconds', () => ({ ...signed(body), 'webhook-timestamp': String(Date.now()) })],
    ['negative', () => ({ ...signed(body), 'webhook-timestamp': '-1' })],
  ])('rejects a signature with 401 if its timestamp is %s', async (_name, headers) => {
    const { post, ingress } = await runIngress({ secrets: bySignature })
    expect((await post(body, headers())).status).toBe(401)
    expect(ingress.counts.refused.timestamp).toBe(1)
  })

  test.each([-4, 4])('accepts a signature whose timestamp is %i minutes off', async minutes => {
    const { post } = await runIngress({ secrets: bySignature })
    expect((await post(body, signed(body, { at: Date.now() + minutes * minute }))).status).toBe(202)
  })

  test('accepts a delivery if one of several signatures matches one of several secrets', async () => {
    const { post } = await runIngress({
      secrets: { tokens: [], signing: [otherSecret, signingSecret].map(value => new Secret(value)) },
    })
    const right = signed(body)
    const several = `v1,AAAA v1a,BBBB ${right['webhook-signature']} v2,CCCC`
    expect((await post(body, { ...right, 'webhook-signature': several })).status).toBe(202)
    expect((await post(body, signed(body, { id: 'd2', secret: otherSecret }))).status).toBe(202)
  })

  test('ignores an unusable signing secret, and still verifies signatures with the others', async () => {
    const { post } = await runIngress({
      secrets: { tokens: [], signing: [new Secret('whsec_***'), new Secret(signingSecret)] },
    })
    expect((await post(body, signed(body))).status).toBe(202)
    expect((await post(body, signed(body, { secret: otherSecret }))).status).toBe(401)
  })

  test('verifies the signature before it ignores an event because of its kind', async () => {
    const { post, ingress } = await runIngress({ secrets: bySignature })
    const push = { 'x-service-event': 'Push Hook' }
    const pushed = '{"object_kind":"push"}'
    expect((await post(pushed, { ...signed('{}'), ...push })).status).toBe(401)
    expect((await post(pushed, { ...signed(pushed), ...push })).status).toBe(200)
    expect(ingress.counts.ignored).toEqual({ push: 1 })
  })

  test('rejects a signed delivery if any byte of the body is changed, added or removed', async () => {
    const { post, accepted } = await runIngress({ secrets: bySignature, maxRefusals: Infinity })
    let sent = 0
    await fc.assert(
      fc.asyncProperty(
        fc.json(),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        fc.constantFrom('change', 'add', 'take'),
        async (json, at, by, how) => {
          const original = Buffer.from(`{"ok":${json}}`)
          const headers = signed(original, { id: `p${(sent += 1)}` })
          const place = at % original.length
          const byte = original[place]!
          const mutated = Buffer.concat([
            original.subarray(0, place),
            how === 'take' ? Buffer.of() : how === 'change' ? Buffer.of(byte ^ by) : Buffer.of(by, byte),
            original.subarray(place + 1),
          ])
          expect((await post(mutated, headers)).status).toBe(401)
          expect((await post(original, headers)).status).toBe(202)
        },
      ),
      runs(100),
    )
    expect(accepted).toHaveLength(sent)
  })
})

describe('a webhook token and a signing secret', () => {
  test.each([
    ['the token alone', withToken, 202],
    ['the signature alone', signed(body), 202],
    ['a right signature beside a wrong token', { ...signed(body), 'x-service-token': 'guess' }, 202],
    ['a wrong signature beside the right token', { ...signed('{}'), ...withToken }, 401],
    ['an old signature beside the right token', { ...signed(body, { at: 1e12 }), ...withToken }, 401],
    ['an empty signature beside the right token', { 'webhook-signature': '', ...withToken }, 401],
    ['neither', {}, 401],
  ])(
    'responds to deliveries if a token and a signing secret are configured: %s → %s',
    async (_name, headers, status) => {
      const { post } = await runIngress({ secrets: byBoth })
      expect((await post(body, headers as Record<string, string>)).status).toBe(status)
    },
  )

  test.each([
    ['the token alone', withToken, 401],
    ['the signature alone', signed(body), 202],
    ['neither', {}, 401],
  ])(
    'responds to deliveries if both secrets are configured and the signature is required: %s → %s',
    async (_name, headers, status) => {
      const { post } = await runIngress({ secrets: byBoth, requireSignature: true })
      expect((await post(body, headers as Record<string, string>)).status).toBe(status)
    },
  )

  test('accepts a delivery by its token alone if no configured secret could verify its signature', async () => {
    const { post } = await runIngress({ secrets: byToken })
    expect((await post(body, { ...signed(body), ...withToken })).status).toBe(202)
    expect((await post(body, signed(body))).status).toBe(401)
  })

  test('accepts no delivery if a signature is required but no signing secret is configured', async () => {
    const { post } = await runIngress({ secrets: open, requireSignature: true })
    expect((await post(body, signed(body))).status).toBe(401)
  })
})

describe('the webhook secrets of several platforms', () => {
  const other = { instance: 'https://git.example.org', secrets: { tokens: [new Secret('theirs')], signing: [] } }
  const own = { instance: 'https://git.example.com', secrets: byBoth }
  const senders = [own, other].map(one => ({ ...one, requireSignature: false }))
  const misleading = { 'x-service-instance': 'https://git.example.net', 'idempotency-key': 'once' }

  test.each([
    ['by its signature', signed(body), own.instance],
    ['by its token', withToken, own.instance],
    ['by its token, whatever its header prefix', { 'x-gitlab-token': 'theirs' }, other.instance],
    [
      'by its token, although it also has a signature that matches no secret',
      { ...signed('{}'), 'x-service-token': 'theirs' },
      other.instance,
    ],
  ])('determines the instance of a delivery from its secret: %s', async (_name, headers, instance) => {
    const { post, accepted } = await runIngress({ senders: () => senders })
    expect((await post(body, { ...misleading, ...(headers as Record<string, string>) })).status).toBe(202)
    expect(accepted.map(one => one.instance)).toEqual([instance])
  })

  test('rejects a delivery that matches none of the configured secrets, and every delivery if no sender is configured', async () => {
    const { post } = await runIngress({ senders: () => senders })
    for (const headers of [{}, { 'x-service-token': 'guess' }, signed('{}')]) {
      expect((await post(body, headers as Record<string, string>)).status).toBe(401)
    }
    const none = await runIngress({ senders: () => [] })
    expect((await none.post(body)).status).toBe(401)
  })

  test('distinguishes equal idempotency keys of different platforms', async () => {
    const { post } = await runIngress({ senders: () => senders })
    const from = async (token: Record<string, string>) => (await post(body, { ...misleading, ...token })).status
    expect(await from(withToken)).toBe(202)
    expect(await from({ 'x-service-token': 'theirs' })).toBe(202)
    expect(await from(withToken)).toBe(200)
  })
})
