// The keep-alive timeout is so long that no connection is closed, even on a busy machine.
import { truthOf } from '../support/truth.ts'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { generatePipeline } from '../support/generate.ts'
import { lengthOf, LivePlatform, LiveClock } from '../../src/simulator/platform/live.ts'
import { WebhookSender, type SendOptions, type SendOutcome } from '../../src/simulator/platform/sender.ts'

interface Arrival {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly socket: number
}

let server: Server
let arrivals: Arrival[]
let status: number

beforeEach(async () => {
  arrivals = []
  status = 202
  // The timeout is so long that no connection is closed, even on a busy machine.
  server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      arrivals.push({ headers: request.headers, body, socket: request.socket.remotePort ?? 0 })
      response.writeHead(status).end('{"message":"thanks"}')
    })
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await new Promise(resolve => server.close(resolve))
})

function url(): string {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}/webhooks`
}

const { deliveries } = generatePipeline(5, 'family')

async function sendAll(options: Partial<SendOptions>): Promise<WebhookSender> {
  const sender = new WebhookSender({ url: url(), ...options })
  await sender.sendAll(deliveries)
  await sender.close()
  return sender
}

const keys = (): (string | undefined)[] => arrivals.map(({ headers }) => headers['idempotency-key'] as string)

describe('the sender', () => {
  it('posts every delivery once, with its headers, over persistent connections', async () => {
    const sender = await sendAll({ token: 'open sesame', concurrency: 2 })
    expect(arrivals.map(({ body }) => body).sort()).toEqual(deliveries.map(({ body }) => body).sort())
    expect(new Set(arrivals.map(({ socket }) => socket)).size).toBeLessThanOrEqual(2)
    expect(arrivals[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': expect.stringMatching(/^(Pipeline|Job) Hook$/) as string,
      'x-service-instance': 'https://git.brightwater.example',
      'x-service-token': 'open sesame',
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    })
    expect(sender.counts).toEqual({
      sent: deliveries.length,
      accepted: deliveries.length,
      refused: 0,
      failed: 0,
      lost: 0,
    })
  })

  it("sends headers with another platform's prefix", async () => {
    await sendAll({ headerPrefix: 'X-Gitlab-', token: 't' })
    expect(arrivals[0]?.headers).toHaveProperty('x-gitlab-event')
    expect(arrivals[0]?.headers).toHaveProperty('x-gitlab-token', 't')
    expect(arrivals[0]?.headers).not.toHaveProperty('x-service-event')
  })

  it('signs deliveries as in Standard Webhooks, with the Idempotency-Key as the ID', async () => {
    const signingToken = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await sendAll({ signingToken })
    const webhook = new Webhook(signingToken)
    for (const { headers, body } of arrivals) {
      expect(headers['webhook-id']).toBe(headers['idempotency-key'])
      expect(() => webhook.verify(body, headers as Record<string, string>)).not.toThrow()
    }
  })

  it('drops a fraction of the deliveries, the same ones for the same seed', async () => {
    const first = await sendAll({ loss: 0.3, seed: 4, concurrency: 1 })
    const kept = keys()
    expect(first.counts.lost).toBeGreaterThan(0)
    expect(first.counts.lost + first.counts.sent).toBe(deliveries.length)
    arrivals = []
    await sendAll({ loss: 0.3, seed: 4, concurrency: 1 })
    expect(keys()).toEqual(kept)
  })

  it('does not retry rejected or unanswered deliveries, and reports every outcome', async () => {
    status = 503
    const outcomes: SendOutcome[] = []
    const refused = await sendAll({ onSent: (_, outcome) => outcomes.push(outcome) })
    expect(refused.counts).toMatchObject({ sent: deliveries.length, refused: deliveries.length, accepted: 0 })
    expect(outcomes[0]).toEqual({ kind: 'answered', status: 503, body: '{"message":"thanks"}' })
    const failed = await sendAll({ url: 'http://127.0.0.1:9/webhooks' })
    expect(failed.counts).toMatchObject({ failed: deliveries.length, accepted: 0 })
  })
})

describe('the simulated live platform', () => {
  it('lets the simulated clock catch up with the real one but not overtake it, so that no pipeline ends in the future', async () => {
    const played = {
      seed: 9,
      instance: 'https://git.example.com',
      pipelines: 3,
      scenarios: ['retried', 'small'],
    } as const
    const length = lengthOf(played)
    const start = Date.now() - length
    const platform = new LivePlatform({ ...played, url: url(), speed: 20_000, start })
    await platform.finished()
    const ends = [...platform.state.pipelines.values()].map(truthOf).flatMap(({ ends }) => ends.map(({ at }) => at))
    expect(Math.max(...ends)).toBeGreaterThan(start + length / 2)
    expect(Math.max(...ends)).toBeLessThanOrEqual(start + length)
    expect(platform.now).toBeLessThanOrEqual(Date.now() + 1)
    expect(new LiveClock(Date.now() + 3_600_000, 30).now).toBeLessThanOrEqual(Date.now() + 1)
  })
})
