// Whose body is read first: a token beside a signature tells the platform from strangers before its body has been read. Whether it is
// accepted is decided by the signature alone.
import { expect, onTestFinished, test } from 'vitest'
import { createProvenPeers } from '../../src/lib/proven-peers.ts'
import { openRaw, type RawConnection } from '../web/raw-exchange.ts'
import { byBoth, runIngress, signed, token, type RunningIngress } from './running-ingress.ts'

const withToken = { 'x-service-token': token }
/** As many as fill the share of bodies that are not verified. */
const share = 1_000_000
const body = `{"n":"${'x'.repeat(899_992)}"}`

async function run(peers = createProvenPeers(), limits = {}): Promise<RunningIngress> {
  return runIngress({ secrets: byBoth, peers, maxBody: share, maxInFlight: 2 * share, limits })
}

/** Announces a signed body, and sends the first `sent` bytes of it. */
async function begin(
  port: number,
  headers: Record<string, string>,
  text = body,
  sent = 300_000,
): Promise<RawConnection> {
  const connection = await openRaw(port)
  onTestFinished(() => void connection.socket.destroy())
  const about = { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' }
  const all = { ...about, 'content-length': String(text.length), ...signed(text), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  connection.socket.write(`POST /webhooks HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n${text.slice(0, sent)}`)
  return connection
}

/** A forged body, all but its last byte, sent at once; resolves with what became of it while there was no more of it. */
async function forged(port: number): Promise<string> {
  const text = 'x'.repeat(share)
  const connection = await begin(port, { 'webhook-id': 'forged' }, text, share - 1)
  return connection.until(/}$/)
}

test('a slow body with the token is not evicted for one without it, even from the same address', async () => {
  const { port, post, accepted } = await run()
  // From now on the address is known, as that of a proxy through which everybody comes.
  expect((await post('{}', { ...signed('{}', { id: 'first' }), ...withToken })).status).toBe(202)
  const honest = await begin(port, withToken)
  for (let at = 0; at < 3; at += 1) expect(await forged(port)).toMatch(/^HTTP\/1\.1 503 /)
  honest.socket.write(body.slice(300_000))
  expect(await honest.until(/}$/)).toMatch(/^HTTP\/1\.1 202 /)
  expect(accepted).toHaveLength(2)
})

test('keeps a connection with token and signature at the connection limit, but not one with a wrong token', async () => {
  const peers = createProvenPeers()
  const { port } = await run(peers, { connections: 3 })
  const guess = await begin(port, { 'x-service-token': 'guess' }, body, 100_000)
  const proved = new Promise<void>(resolve => peers.onProved(() => resolve()))
  const honest = await begin(port, withToken, body, 100_000)
  await proved
  for (let at = 0; at < 4; at += 1) {
    const { socket } = await openRaw(port)
    onTestFinished(() => void socket.destroy())
  }
  expect(await guess.closed()).toBe('')
  honest.socket.write(body.slice(100_000))
  expect(await honest.until(/}$/)).toMatch(/^HTTP\/1\.1 202 /)
})

test('a small body is not refused because of faster large ones, however few its first bytes', async () => {
  const { port, post } = await run()
  const large = await begin(port, { 'webhook-id': 'forged' }, 'x'.repeat(share), share - 1)
  expect((await post('{}', signed('{}', { id: 'first' }))).status).toBe(202)
  const text = `{"n":"${'x'.repeat(100_000)}"}`
  const small = await begin(port, signed(text, { id: 'small' }), text, 1)
  // Answered after the first byte of the other was read.
  expect((await post('{}', signed('{}', { id: 'second' }))).status).toBe(202)
  small.socket.write(text.slice(1))
  expect(await small.until(/}$/)).toMatch(/^HTTP\/1\.1 202 /)
  expect(large.text()).toBe('')
})
