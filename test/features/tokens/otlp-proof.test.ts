// Tests what the OTLP endpoint's response to an empty export reveals about a token.
import { beforeEach, expect, it } from 'vitest'
import { createServer } from 'node:http'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createProver } from '../../../src/features/tokens/otlp-proof.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'

let instance: ObservabilityInstance

beforeEach(async () => {
  instance = closeAfterTest(await startInstance())
})

function prove(token: string | undefined, headers: Record<string, string> = {}, timeoutMs = 60_000) {
  return createProver({ url: instance.otlpUrl, headers, timeoutMs })(
    token === undefined ? undefined : new Secret(token),
  )
}

it('reports a valid token as accepted, and a wrong or missing one as rejected while enforcement is on', async () => {
  const { value } = instance.add('pipespan')
  expect(await prove(value)).toEqual({ kind: 'accepted' })
  expect(await prove('wrong')).toEqual({ kind: 'refused', status: 401 })
  expect(await prove(undefined)).toEqual({ kind: 'refused', status: 401 })
  instance.enforced = false
  expect(await prove(undefined)).toEqual({ kind: 'accepted' })
})

it('replaces a configured authorization header with the tested token', async () => {
  const { value } = instance.add('pipespan')
  expect(await prove(value, { Authorization: 'Bearer another', 'X-Tenant': 'a' })).toEqual({ kind: 'accepted' })
})

it.each([{ status: 503 }, { status: 404 }, 'lost', 'silent'] as const)(
  'reports that it is unclear whether the endpoint accepts a token after %o',
  async how => {
    instance.misbehaveOnce('POST', '/v1/traces', how)
    const timeoutMs = how === 'silent' ? 300 : undefined
    expect(await prove(instance.add('pipespan').value, {}, timeoutMs)).toMatchObject({ kind: 'unclear' })
  },
)

it.each([
  ['text/html; charset=utf-8', '<!doctype html><title>Sign in</title>', /web page/],
  ['text/plain', '<html></html>', /web page/],
  ['application/grpc', '', /OTLP\/gRPC/],
])(
  'reports that it is unclear whether the endpoint accepts a token if another kind of server responds with 200: %s',
  async (contentType, body, reason) => {
    const proxy = createServer((_, answer) => answer.setHeader('content-type', contentType).end(body))
    const url = `http://127.0.0.1:${await listen(proxy)}/v1/traces`
    const proof = await createProver({ url, timeoutMs: 60_000 })(new Secret('any'))
    expect(proof).toEqual({ kind: 'unclear', reason: expect.stringMatching(reason) as string })
  },
)

it('does not test a token that is not a valid header value', async () => {
  const proof = await prove('two\nlines')
  expect(proof).toMatchObject({ kind: 'unclear' })
  expect(JSON.stringify(proof)).not.toContain('lines')
  expect(instance.exports).toEqual({ accepted: 0, refused: 0 })
})
