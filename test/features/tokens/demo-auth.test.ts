// The ingest tokens of the demo's backend, asked by the real client.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createIngestTokens } from '../../../src/features/tokens/client.ts'
import { createProver } from '../../../src/features/tokens/otlp-proof.ts'
import { DemoReceiver } from '../../../src/simulator/receiver.ts'
import { IngestAuth } from '../../../src/simulator/ingest-auth.ts'
import { Secret } from '../../../src/lib/secret.ts'

let auth: IngestAuth
let receiver: DemoReceiver

beforeEach(async () => {
  auth = new IngestAuth()
  receiver = await DemoReceiver.start(undefined, auth)
})
afterEach(async () => {
  await receiver.close()
})

function client(key = auth.apiKey) {
  return createIngestTokens({ url: receiver.url, apiKey: () => new Secret(key), timeoutMs: 5_000 })
}

async function proofOf(token: Secret | undefined): Promise<string> {
  return (await createProver({ url: `${receiver.url}/v1/traces`, timeoutMs: 5_000 })(token)).kind
}

it('accepts telemetry with each valid token, and with none after enforcement is off', async () => {
  const tokens = client()
  const { value, id } = await tokens.create('pipespan')
  expect((await tokens.list()).map(({ name }) => name)).toEqual(['pipespan'])
  expect(await proofOf(value)).toBe('accepted')
  expect(await proofOf(undefined)).toBe('refused')
  expect(await tokens.revoke(id ?? '')).toBe('last')
  const second = await tokens.create('pipespan')
  expect(await tokens.revoke(id ?? '')).toBe('revoked')
  expect(await tokens.revoke(id ?? '')).toBe('gone')
  expect([await proofOf(value), await proofOf(second.value)]).toEqual(['refused', 'accepted'])
  expect(await tokens.setEnforcement(false)).toBe(false)
  expect(await tokens.enforcement()).toBe(false)
  expect(await proofOf(undefined)).toBe('accepted')
})

it('refuses a wrong API key, and what is not asked as documented', async () => {
  await expect(client('wrong').list()).rejects.toThrow(/API key/)
  const ask = async (method: string, path: string, body?: string): Promise<number> => {
    const headers = { 'observability-api-key': auth.apiKey }
    const answer = await fetch(`${receiver.url}/api/v1/ingest_auth/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    return answer.status
  }
  expect(await ask('POST', 'tokens', '{}')).toBe(400)
  expect(await ask('POST', 'tokens', 'no JSON')).toBe(400)
  expect(await ask('PUT', 'state', '{"enabled":"yes"}')).toBe(400)
  expect(await ask('GET', 'users')).toBe(404)
})
