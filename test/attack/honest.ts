// Sends signed webhooks about finished pipelines, as the honest platform does during an attack, and records the response to each.
import { createHmac } from 'node:crypto'
import { request as httpRequest, type Agent } from 'node:http'
import { text } from 'node:stream/consumers'
import { generatePipeline } from '../support/generate.ts'

export const signingToken = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** The webhook body for a finished pipeline with the given ID. `bytes`: minimum size, reached by padding a field that is never read. */
export function pipelineBody(id: number, bytes = 0): string {
  const { deliveries } = generatePipeline(9, 'small', { firstIds: { pipeline: id, job: id * 100 } })
  const body = deliveries.filter(({ kind }) => kind === 'pipeline').at(-1)?.body ?? ''
  const room = bytes - body.length
  return room > 0 ? body.replace('{', `{"padding":"${'x'.repeat(room)}",`) : body
}

/** The headers of a delivery signed as the platform signs it. `at`: time of the signature, Unix time in ms. */
export function signedHeaders(body: string, id: string, at = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const key = Buffer.from(signingToken.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'content-type': 'application/json',
    'x-service-event': 'Pipeline Hook',
    'idempotency-key': id,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}

export interface SentFrom {
  /** The sender's source address. Every address in 127.0.0.0/8 belongs to this machine. */
  readonly localAddress?: string
  readonly agent?: Agent
}

/** Posts one delivery and resolves with the status. Uses a new connection unless an agent is given. */
export function post(url: string, body: string, headers: Record<string, string>, from: SentFrom = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const { localAddress, agent = false } = from
    const length = { 'content-length': Buffer.byteLength(body) }
    const options = { method: 'POST', agent, localAddress, headers: { ...headers, ...length } }
    const request = httpRequest(url, options, response => {
      void text(response).then(() => resolve(response.statusCode ?? 0), reject)
    })
    // The platform waits 10 s for a response. The limit here is longer, because the test machine may be busy.
    request.setTimeout(120_000, () => request.destroy(new Error('no response within 120 s')))
    request.on('error', reject).end(body)
  })
}
