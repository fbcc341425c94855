// Sends mutated HTTP requests to the shipped daemon's webhook listener. The daemon must survive, respond to valid deliveries within a second
// throughout, and not use more and more memory. A long run: PIPESPAN_FUZZ_REQUESTS=1000000 PIPESPAN_FUZZ_SEED=1 npm run test:full --
// test/fuzz/http-requests.test.ts
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { isFull, report } from '../e2e/load.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

const requests = Number(process.env.PIPESPAN_FUZZ_REQUESTS ?? (isFull ? 50_000 : 500))
const seed = Number(process.env.PIPESPAN_FUZZ_SEED ?? (isFull ? Date.now() % 1_000_000 : 7))
/** The number of concurrent connections. Each request has its own connection, because most of these requests cause it to be closed. */
const concurrency = 16
/** The number of mutated requests between two valid deliveries. */
const honestEach = 500
/** The maximum number of requests. More requests than planned are sent if a busy daemon responds to none of them in time, up to this number. */
const most = 20 * requests

const body = pipelineEvent({ id: 1 })
const right =
  `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Service-Token: ${webhookToken}\r\n` +
  `X-Service-Event: Pipeline Hook\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const odd = [
  ...['\0', '\r', '\n', '\r\n', ' ', '\t', ':', '\u00ff', '%', '%00', '/..', '?', '#', ',', ';', '"', '{', '}'],
  ...['Content-Length: 5\r\n', 'Content-Length: -1\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\n'],
  ...[
    'Transfer-Encoding: identity, chunked\r\n',
    'Connection: close\r\n',
    'Upgrade: h2c\r\n',
    'Host: b\r\n',
    'HTTP/1.0',
  ],
  ...[
    'Content-Encoding: gzip\r\n',
    'webhook-id: a\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AAAA\r\n',
    'ffffffff\r\n',
  ],
  ...['GET', 'PUT', 'CONNECT', 'OPTIONS *', '/healthz', '/readyz', '/metrics', 'http://a/webhooks', 'x'.repeat(20_000)],
]

function mutated(random: Random): Buffer {
  let bytes = Buffer.from(right, 'latin1')
  for (let changes = random.whole(1, 4); changes > 0; changes -= 1) {
    // Most mutations are made in the head of the request, because its syntax is more sensitive than that of the body.
    const at = random.whole(0, random.chance(0.8) ? right.indexOf('{') : bytes.length)
    const put = Buffer.from(odd[random.whole(0, odd.length - 1)] ?? '', 'latin1')
    const cut = random.chance(0.6) ? 0 : random.whole(1, 30)
    bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)])
  }
  return random.chance(0.1) ? bytes.subarray(0, random.whole(0, bytes.length)) : bytes
}

/**
 * Sends bytes to the daemon. Returns whether the daemon responded. The local addresses are used in turn, because a few hundred connections per second
 * exhaust the ports of one address.
 */
async function send(port: number, piece: Buffer, at: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (at % 250)}` })
    const done = (isAnswered: boolean): void => {
      resolve(isAnswered)
      socket.destroy()
    }
    socket.once('data', () => done(true))
    socket.on('error', () => done(false)).once('close', () => done(false))
    // If a request announces more bytes than it sends, the daemon waits for the rest until its own timeout. This test does not wait that long.
    socket.setTimeout(100, () => done(false))
    socket.end(piece)
  })
}

it(`survives ${requests} mutated requests while it serves others`, { timeout: 0 }, async () => {
  const random = new Random(seed)
  // The heap is limited as in a small container, so that a memory leak would crash the daemon.
  const daemon = await Daemon.start({}, ['--max-old-space-size=160'])
  const port = Number(new URL(daemon.url).port)
  let sent = 0
  let answered = 0
  let slowest = 0
  let settled = 0
  let honest = 0
  const sender = async (): Promise<void> => {
    while (sent < requests || (answered === 0 && sent < most)) {
      const at = (sent += 1)
      if (await send(port, mutated(random), at)) answered += 1
      if (at % honestEach !== 0) continue
      const since = performance.now()
      const answer = await daemon.post(body, {
        'x-service-event': 'Pipeline Hook',
        'idempotency-key': `honest ${at}`,
      })
      await answer.body?.cancel()
      slowest = Math.max(slowest, performance.now() - since)
      expect(answer.status).toBe(202)
      honest += 1
      if (settled === 0 && sent > requests / 5) settled = daemon.memory().now
    }
  }
  await Promise.all(Array.from({ length: concurrency }, sender))
  expect(daemon.process.child.exitCode).toBeNull()
  const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024)
  const figures = { seed, requests, answered, honest, slowestMs: Math.round(slowest) }
  if (isFull) report({ ...figures, afterAFifthMiB: mib(settled), inTheEndMiB: mib(daemon.memory().now) })
  expect(honest).toBeGreaterThan(0)
  expect(answered).toBeGreaterThan(0)
  expect(daemon.memory().now).toBeLessThan(512 * 1024 * 1024)
  expect((await daemon.stop()).code).toBe(0)
})
