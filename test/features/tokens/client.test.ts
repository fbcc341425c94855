// Tests the token API client with an instance that sends every shape of response and every kind of refusal.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createIngestTokens, type IngestTokens } from '../../../src/features/tokens/client.ts'
import { InstanceError } from '../../../src/features/tokens/instance-error.ts'
import { readCreated, readList, readState } from '../../../src/features/tokens/listed-token.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'
import { createServer, type Socket } from 'node:net'
import { Agent } from 'undici'
import { send } from '../../../src/features/tokens/request.ts'

let instance: ObservabilityInstance
let client: IngestTokens

function clientWith(key: string | undefined, url = instance.url, timeoutMs = 60_000): IngestTokens {
  return createIngestTokens({ url, apiKey: () => (key === undefined ? undefined : new Secret(key)), timeoutMs })
}

beforeEach(async () => {
  instance = closeAfterTest(await startInstance())
  client = clientWith(instance.apiKey)
})

/** Returns the error that the call throws. Its message must not contain the key. */
async function faultOf(call: Promise<unknown>): Promise<InstanceError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof InstanceError)) throw new Error(`no InstanceError: ${String(error)}`)
  expect(error.message.endsWith(error.remedy)).toBe(true)
  expect(error.message).not.toContain(instance.apiKey)
  return error
}

describe('token API client', () => {
  it('creates, lists and revokes ingest tokens', async () => {
    const { value, id } = await client.create('pipespan')
    expect(value.reveal()).toBe(instance.tokens[0]?.value)
    await client.create('pipespan')
    expect(await client.list()).toEqual([
      { id, name: 'pipespan', valid: true },
      { id: '102', name: 'pipespan', valid: true },
    ])
    expect(await client.revoke(id!)).toBe('revoked')
    expect(await client.revoke(id!)).toBe('gone')
    expect(instance.tokens).toHaveLength(1)
  })

  it('does not treat a 404 as a successful revocation while the token is still listed', async () => {
    const { id } = await client.create('pipespan')
    instance.misbehaveOnce('DELETE', `/tokens/${id}`, { status: 404, body: '{"error":"not found"}' })
    const error = await faultOf(client.revoke(id!))
    expect(error.status).toBe(404)
    expect(error.message).toContain('still listed as valid')
  })

  it('reads and sets ingest token enforcement', async () => {
    expect(await client.enforcement()).toBe(true)
    expect(await client.setEnforcement(false)).toBe(false)
    expect(instance.enforced).toBe(false)
  })

  it('requests the enforcement state if the response to a change does not contain it', async () => {
    instance.misbehaveOnce('PUT', '/state', { status: 200, body: '' })
    expect(await client.setEnforcement(true)).toBe(true)
  })

  it("keeps a path prefix in the token API's URL", async () => {
    const error = await faultOf(clientWith(instance.apiKey, `${instance.url}/o11y/`).list())
    expect(error.message).toContain('there is no token API at this address')
  })

  describe('retried token API requests', () => {
    const waits: number[] = []
    const retryClock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) }
    const retrying = () =>
      createIngestTokens({
        ...{ url: instance.url, apiKey: () => new Secret(instance.apiKey), timeoutMs: 60_000, retryClock },
      })
    beforeEach(() => void waits.splice(0))

    it.each([
      ['list', 'GET', '/tokens', () => retrying().list()],
      ['revoke', 'DELETE', '/tokens/101', () => retrying().revoke('101')],
      ['enforcement', 'GET', '/state', () => retrying().enforcement()],
      ['setEnforcement', 'PUT', '/state', () => retrying().setEnforcement(false)],
    ] as const)(
      'retries the token request %s after 429 and 503, following Retry-After or exponential backoff',
      async (...row) => {
        const [, method, path, call] = row
        instance.add('other')
        instance.add('another')
        instance.misbehaveOnce(method, path, { status: 429, retryAfter: '7' })
        instance.misbehaveOnce(method, path, { status: 503 })
        instance.misbehaveOnce(method, path, { status: 503, retryAfter: '2' })
        await call()
        expect(waits).toEqual([7_000, expect.any(Number), 2_000])
        expect(waits[1]).toBeLessThanOrEqual(1_000)
      },
    )

    it.each([
      [500, undefined],
      [429, '31'],
      [503, '3600'],
    ])('does not retry a token request after status %i with Retry-After %s', async (status, retryAfter) => {
      instance.misbehaveOnce('GET', '/tokens', { status, ...(retryAfter !== undefined && { retryAfter }) })
      expect(await faultOf(retrying().list())).toMatchObject({ status })
      expect(waits).toEqual([])
    })

    it.each([{}, { retryAfter: '0' }])('gives up on a token request after half a minute (%j)', async asked => {
      for (let n = 0; n < 50; n += 1) instance.misbehaveOnce('GET', '/tokens', { status: 503, ...asked })
      expect(await faultOf(retrying().list())).toMatchObject({ status: 503 })
      expect(waits.length).toBeGreaterThan(3)
      expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(30_000)
    })

    it('does not retry the creation of a token after 503, because a token whose value is lost may already exist', async () => {
      instance.misbehaveOnce('POST', '/tokens', { status: 503, isDone: true })
      expect(await faultOf(retrying().create('pipespan'))).toMatchObject({ status: 503, uncertain: true })
      expect(instance.tokens).toHaveLength(1)
    })
  })

  it.each([409, 400, 403, 422])(
    'recognises a %i response as the refusal to revoke the last valid token under enforcement',
    async lastStatus => {
      const own = await startInstance({ lastStatus })
      const { id } = own.add('pipespan')
      expect(await clientWith(own.apiKey, own.url).revoke(String(id))).toBe('last')
      await own.close()
    },
  )
})

describe('token API errors', () => {
  it('fails before it sends anything if the API key is missing or not a valid header value', async () => {
    expect((await faultOf(clientWith(undefined).list())).message).toContain('PIPESPAN_OBSERVABILITY_API_KEY_FILE')
    const error = await faultOf(clientWith('two\nlines').list())
    expect(error.message).toContain('must contain only the key')
    expect(error.message).not.toContain('lines\nlines')
  })

  it('reports a wrong API key (401) without repeating the key', async () => {
    const error = await faultOf(clientWith('a-wrong-key').list())
    expect(error).toMatchObject({ status: 401, uncertain: false })
    expect(error.message).not.toContain('a-wrong-key')
    expect(error.message).toContain('invalid api key [secret]')
  })

  it('reports an insufficient role for the token API (403)', async () => {
    const error = await faultOf(clientWith(instance.viewerKey).create('pipespan'))
    expect(error).toMatchObject({ status: 403, uncertain: false })
    expect(error.message).toContain('Editor role')
  })

  it('reports a revocation that is refused with 409 although the token is not the last one', async () => {
    instance.add('one')
    instance.add('two')
    instance.misbehaveOnce('DELETE', '/tokens/101', { status: 409, body: '{"message":"is in use elsewhere"}' })
    expect((await faultOf(client.revoke('101'))).message).toContain('409: "is in use elsewhere"')
  })

  it.each([
    [500, 'Try again later', true],
    [503, 'Try again later', true],
    [429, 'Try again later', false],
    [404, 'Check PIPESPAN_OBSERVABILITY_URL', false],
    [418, "The instance's message says why", false],
    [302, 'Check PIPESPAN_OBSERVABILITY_URL', false],
  ])('says how to fix a token API error with the HTTP status %i', async (status, remedy, uncertain) => {
    instance.misbehaveOnce('GET', '/tokens', { status })
    const error = await faultOf(client.list())
    expect(error).toMatchObject({ status, uncertain })
    expect(error.remedy).toContain(remedy)
  })

  it('reports a web page in place of a token API response', async () => {
    const page = { status: 200, type: 'text/html', body: '<!doctype html><title>Sign in</title>' }
    instance.misbehaveOnce('GET', '/tokens', page)
    expect((await faultOf(client.list())).message).toContain('a web page answered')
    instance.misbehaveOnce('GET', '/tokens', { ...page, status: 403 })
    expect((await faultOf(client.list())).message).toContain('not from the token API')
  })

  it('reports an incomplete token API response without the token that it contains', async () => {
    instance.misbehaveOnce('POST', '/tokens', 'truncated')
    const error = await faultOf(client.create('pipespan'))
    expect(error).toMatchObject({ uncertain: true })
    expect(error.message).not.toContain(instance.tokens[0]!.value.slice(0, 12))
  })

  it('reports JSON that is not a valid token API response', async () => {
    instance.misbehaveOnce('GET', '/tokens', { status: 200, body: '{"items":[]}' })
    expect((await faultOf(client.list())).message).toContain('not a list of tokens')
  })

  it('reports a token API timeout', async () => {
    instance.misbehaveOnce('GET', '/state', 'silent')
    const hasty = clientWith(instance.apiKey, instance.url, 300)
    expect((await faultOf(hasty.enforcement())).message).toContain('no response within 0.3 s')
  })

  it('reports that a token request may have taken effect if its connection broke, but not if the connection was refused', async () => {
    instance.misbehaveOnce('POST', '/tokens', 'lost')
    expect(await faultOf(client.create('pipespan'))).toMatchObject({ uncertain: true })
    // Port 1 is used, because another process may take any port that was free a moment ago.
    const closed = 'http://127.0.0.1:1'
    expect(await faultOf(clientWith(instance.apiKey, closed).list())).toMatchObject({ uncertain: false })
  })
})

describe('token API responses whose shape is not documented', () => {
  it.each([
    ['a bare array', [{ id: 1 }]],
    ['an object with tokens', { tokens: [{ id: '1' }] }],
    ['an object with data', { data: [{ id: 1, name: null }] }],
    ['an object with data that holds tokens', { data: { tokens: [{ id: 1 }] } }],
  ])('reads a token list from any shape of response: %s', (_, json) => {
    expect(readList(json, 0)).toEqual([{ id: '1', valid: true }])
  })

  it('distinguishes revoked and expired tokens from valid ones', () => {
    const json = [
      { id: 1, revoked_at: '2026-01-01T00:00:00Z' },
      { id: 2, revoked: true },
      { id: 3, status: 'revoked' },
      { id: 4, expires_at: '2026-01-01T00:00:00Z' },
      { id: 5, expires_at: '2027-01-01T00:00:00Z', status: 'active', revoked: false, revoked_at: null },
    ]
    const now = Date.parse('2026-06-01T00:00:00Z')
    expect(readList(json, now)?.filter(token => token.valid)).toEqual([
      { id: '5', valid: true, expiresAt: Date.parse('2027-01-01T00:00:00Z') },
    ])
  })

  it('reads a created token and an enforcement state with or without an enclosing object', () => {
    expect(readCreated({ data: { token: 'x', id: 7 } })).toEqual({ value: 'x', id: '7' })
    expect(readCreated({ token: 'x' })).toEqual({ value: 'x', id: undefined })
    expect(readCreated({ id: 7 })).toBeUndefined()
    expect(readState({ data: { enabled: true } })).toBe(true)
    expect(readState({ state: { enabled: false } })).toBe(false)
    expect(readState({ enabled: null })).toBe(false)
    expect(readState({ enabled: 'yes' })).toBeUndefined()
  })
})

it('reports that a token request was not sent if no connection was made in time', async () => {
  const open = new Set<Socket>()
  // The server accepts connections but never answers the TLS ClientHello.
  const server = createServer(socket => void open.add(socket))
  const url = new URL(`https://127.0.0.1:${await listen(server)}/tokens`)
  const dispatcher = closeAfterTest(new Agent({ connect: { timeout: 100 } }))
  const answer = await send({ method: 'POST', url, headers: {}, timeoutMs: 600_000, dispatcher })
  expect(answer).toMatchObject({ kind: 'failed', sent: false, code: 'UND_ERR_CONNECT_TIMEOUT' })
  for (const socket of open) socket.destroy()
})
