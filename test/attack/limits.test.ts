// Tests clients without the secret that open too many connections, or send too much, too slowly or endlessly, over real sockets. Each is rejected as
// described in the table of limits in SECURITY.md, while senders with the secret still get responses. The limits are smaller than the real ones. The
// attacking connections stay open until the honest sender has got its response.
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { openRaw, pour, type RawConnection } from '../daemon/listeners/raw-exchange.ts'
import { byBoth, bySignature, runIngress, token } from '../core/receive/running-ingress.ts'
import { pipelineBody, post, signedHeaders } from './honest.ts'

const platform = { localAddress: '127.0.0.2' }
const stranger = '127.0.0.3'
const withToken = { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook', 'x-service-token': token }

/** Posts a delivery of at least this many bytes, as the platform would. */
async function deliver(url: string, headers: Record<string, string> = withToken, bytes = 0): Promise<number> {
  return post(`${url}/webhooks`, pipelineBody(1, bytes), headers, platform)
}

async function deliverSigned(url: string, bytes: number, headers: Record<string, string> = {}): Promise<number> {
  const body = pipelineBody(1, bytes)
  return post(`${url}/webhooks`, body, { ...signedHeaders(body, 'honest'), ...headers }, platform)
}

async function connectMany(count: number, port: number, from = stranger): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, async () => openRaw(port, '127.0.0.1', from)))
}

/** The request line and headers of a webhook, with additional header lines. */
function head(...lines: string[]): string {
  return ['POST /webhooks HTTP/1.1', 'Host: a', 'Content-Type: application/json', ...lines, '', ''].join('\r\n')
}

/** The headers of a webhook with a forged signature. The signature can only be verified once the whole body has been received. */
function forgedHead(length: number): string {
  const signature = `webhook-signature: v1,${randomBytes(32).toString('base64')}`
  const time = `webhook-timestamp: ${Math.floor(Date.now() / 1000)}`
  return head('webhook-id: forged', time, signature, `Content-Length: ${length}`)
}

const statusOf = (answer: string): string => answer.slice(9, 12)

it('ends requests with endless headers after the timeout', async () => {
  const { port, url } = await runIngress({ limits: { headers: 1_000 } })
  const slow = await connectMany(20, port)
  for (const { socket } of slow) socket.write('POST /webhooks HTTP/1.1\r\nHost: a\r\nX-Endless: ')
  expect(await deliver(url)).toBe(202)
  const answers = await Promise.all(slow.map(async one => one.closed()))
  expect(answers.map(statusOf)).toEqual(slow.map(() => '408'))
})

it('ends requests with endless bodies after the timeout, even if the sender has the token', async () => {
  const { port, url } = await runIngress({ limits: { headers: 1_000, request: 1_000 } })
  const slow = await connectMany(20, port)
  for (const { socket } of slow) socket.write(`${head(`X-Service-Token: ${token}`, 'Content-Length: 1000')}{`)
  expect(await deliver(url)).toBe(202)
  const answers = await Promise.all(slow.map(async one => one.closed()))
  expect(answers.map(statusOf)).toEqual(slow.map(() => '408'))
})

it('accepts deliveries alongside a thousand idle connections, and closes those after the timeout', async () => {
  const { port, url } = await runIngress({
    limits: { connections: 1_200, connectionsOfAddress: 1_000, headers: 3_000, request: 3_000 },
  })
  const idle = await connectMany(1_000, port)
  expect(await deliver(url)).toBe(202)
  await Promise.all(idle.map(async one => one.closed()))
  expect(await deliver(url)).toBe(202)
})

it('does not let a single address use all connections', async () => {
  const { port, url } = await runIngress({ limits: { connections: 8, connectionsOfAddress: 4 } })
  const taken = await connectMany(4, port)
  const above = await connectMany(4, port)
  expect(await Promise.all(above.map(async one => one.closed()))).toEqual(above.map(() => ''))
  expect(await deliver(url)).toBe(202)
  expect(taken.filter(({ socket }) => socket.destroyed)).toEqual([])
  for (const { socket } of taken) socket.write(head('Content-Length: 0'))
  expect((await taken[0]?.until(/}$/))?.slice(9, 12)).toBe('401')
})

it('closes connections above the total limit, and accepts new ones once others have been closed', async () => {
  const { port, url } = await runIngress({ limits: { connections: 8, connectionsOfAddress: 4 } })
  const taken = [...(await connectMany(4, port)), ...(await connectMany(4, port, '127.0.0.4'))]
  expect(await (await openRaw(port, '127.0.0.1', '127.0.0.5')).closed()).toBe('')
  for (const { socket } of taken) socket.destroy()
  await expect.poll(async () => deliver(url).catch(() => 0)).toBe(202)
})

it('limits bodies from senders without the token to a quarter of the byte budget, and leaves the rest to senders with the token', async () => {
  const waiting = { total: 100_000, unproven: 25_000 }
  const { port, url } = await runIngress({ secrets: byBoth, waiting })
  const held = await connectMany(5, port)
  for (const { socket } of held) socket.write(forgedHead(6_000) + '{'.padEnd(5_000))
  // The five bodies are sent concurrently, so any of them may be admitted. They always fill the quarter of the budget so far that no other body fits.
  const refused = async (): Promise<string> => {
    const one = await openRaw(port, '127.0.0.1', stranger)
    one.socket.write(forgedHead(2_000) + '{'.padEnd(2_000))
    return statusOf(await one.until(/}$/))
  }
  await expect.poll(refused).toBe('503')
  expect(await deliverSigned(url, 20_000)).toBe(503)
  expect(await deliverSigned(url, 70_000, { 'x-service-token': token })).toBe(202)
  expect(held.filter(({ socket }) => socket.destroyed)).toEqual([])
  for (const { socket } of held) socket.destroy()
  await expect.poll(async () => deliverSigned(url, 20_000)).toBe(200)
})

it('rejects a body above 25 MiB with a response that the sender can read', async () => {
  const { port, url } = await runIngress()
  const above = pour(port, 25 * 1024 * 1024 + 1, { 'x-service-token': token })
  expect(await deliver(url)).toBe(202)
  expect(statusOf(await above)).toBe('413')
})

it('does not store an endless chunked body, and ends it after the timeout', async () => {
  const waiting = { total: 100_000, unproven: 25_000 }
  const { port, url } = await runIngress({ maxBody: 100_000, waiting, limits: { headers: 2_000, request: 2_000 } })
  const endless = await openRaw(port, '127.0.0.1', stranger)
  const { socket } = endless
  socket.write(head(`X-Service-Token: ${token}`, 'Transfer-Encoding: chunked'))
  const chunk = `${(10_000).toString(16)}\r\n${'x'.repeat(10_000)}\r\n`
  let sent = 0
  const sending = (async () => {
    while (!socket.destroyed) {
      await new Promise<void>(resolve => void socket.write(chunk, () => resolve()))
      sent += 10_000
    }
  })()
  await expect.poll(() => sent).toBeGreaterThan(1_000_000)
  // The whole byte budget is available again, so a large body is accepted.
  expect(await deliver(url, withToken, 90_000)).toBe(202)
  expect(statusOf(await endless.closed())).toMatch(/^(408|)$/)
  await sending
})

it('responds to wrong tokens from one address with 429 after some attempts, but accepts the right token and serves other addresses', async () => {
  const { url } = await runIngress({ secrets: byBoth, maxRefusals: 5, now: () => 1_700_000_000_000 })
  const from = { localAddress: stranger }
  const wrong = { ...withToken, 'x-service-token': 'wrong' }
  const guess = async (where: typeof from): Promise<number> => post(`${url}/webhooks`, pipelineBody(1), wrong, where)
  const statuses = await Promise.all(Array.from({ length: 60 }, async () => guess(from)))
  expect(statuses.sort()).toEqual([...Array<number>(5).fill(401), ...Array<number>(55).fill(429)])
  expect(await post(`${url}/webhooks`, pipelineBody(1), withToken, from)).toBe(202)
  expect(await guess(platform)).toBe(401)
})

it('closes a connection with too many pending requests', async () => {
  const { port, url } = await runIngress()
  const flood = await openRaw(port, '127.0.0.1', stranger)
  flood.socket.write(head('X-Service-Token: wrong', 'Content-Length: 0').repeat(200))
  const answer = await flood.closed()
  expect(answer.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThan(200)
  expect(await deliver(url)).toBe(202)
})

it('responds to forged signatures from one address with 429 instead of 401 after some attempts', async () => {
  const at = Date.now()
  const { port, url } = await runIngress({ secrets: bySignature, maxRefusals: 5, now: () => at })
  const flood = async (): Promise<string> => {
    const one = await openRaw(port, '127.0.0.1', stranger)
    one.socket.write(forgedHead(2) + '{}')
    return statusOf(await one.until(/}$/))
  }
  const statuses: string[] = []
  while (statuses.length < 8) statuses.push(await flood())
  expect(statuses).toEqual([...Array<string>(5).fill('401'), ...Array<string>(3).fill('429')])
  expect(await deliverSigned(url, 0)).toBe(202)
})
