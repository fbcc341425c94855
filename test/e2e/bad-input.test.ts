// Sends one kind of bad input after another to the running daemon. Each gets the documented response and does no harm.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { generatePipeline } from '../support/generate.ts'
import { pour } from '../daemon/listeners/raw-exchange.ts'
import { Daemon, webhookToken } from './daemon.ts'

const signingToken = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Returns the webhook body of a finished pipeline with this ID, as the platform would send it. */
function pipelineBody(id: number, change: (payload: Payload) => void = () => undefined): string {
  const { deliveries } = generatePipeline(9, 'small', { firstIds: { pipeline: id, job: id * 100 } })
  const last = deliveries.filter(({ kind }) => kind === 'pipeline').at(-1)
  const payload = JSON.parse(last?.body ?? '') as Payload
  change(payload)
  return JSON.stringify(payload)
}

interface Payload {
  object_attributes: Record<string, unknown>
  builds: Record<string, unknown>[]
  [field: string]: unknown
}

function signed(body: string, timestamp: number, secret = signingToken): Record<string, string> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`msg-1.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': 'msg-1', 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` }
}

const now = (): number => Math.floor(Date.now() / 1000)
const pipelineHook = { 'x-service-event': 'Pipeline Hook' }

interface Case {
  readonly name: string
  readonly body: string
  readonly headers?: Record<string, string>
  readonly status: number
  readonly message: RegExp
}

const good = pipelineBody(1)
const refused: readonly Case[] = [
  { name: 'a wrong token', body: good, headers: { 'x-service-token': 'guess' }, status: 401, message: /token/ },
  {
    name: 'a bad signature, in spite of the right token',
    body: good,
    headers: signed(good, now(), `whsec_${Buffer.alloc(32, 8).toString('base64')}`),
    status: 401,
    message: /signature/,
  },
  { name: 'an old timestamp', body: good, headers: signed(good, now() - 301), status: 401, message: /timestamp/ },
  { name: 'text that is no JSON', body: 'pipeline=1', status: 400, message: /not a JSON object/ },
  {
    name: 'a compressed body',
    body: good,
    headers: { 'content-encoding': 'gzip' },
    status: 415,
    message: /compressed/,
  },
]

/** Undecodable bodies: the daemon responds with 202 and quarantines them with this reason. */
const kept: readonly { readonly name: string; readonly body: string; readonly reason: RegExp }[] = [
  { name: 'JSON that ends early', body: good.slice(0, -20) + '}', reason: /JSON/ },
  { name: 'no project', body: pipelineBody(3, one => delete one.project), reason: /project/ },
  {
    name: 'nesting of 100,000 levels',
    body: `{"object_kind":"pipeline","object_attributes":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
    reason: /./,
  },
]

const absurd = '9999999-99-99 99:99:99 UTC'
/** Bodies with absurd content that the daemon nevertheless processes: their pipelines arrive. */
const endured: readonly { readonly name: string; readonly id: number; readonly body: string }[] = [
  {
    name: 'absurd times',
    id: 11,
    body: pipelineBody(11, one => {
      Object.assign(one.object_attributes, { created_at: absurd, finished_at: '0000-00-00T00:00:00Z' })
      for (const build of one.builds)
        Object.assign(build, { started_at: '275761-01-01 00:00:00 UTC', finished_at: absurd })
    }),
  },
  {
    name: '__proto__ keys',
    id: 12,
    body: pipelineBody(12).replace(
      '"object_attributes":{',
      '"__proto__":{"polluted":true},"object_attributes":{"__proto__":{"status":"failed","polluted":true},',
    ),
  },
  {
    name: 'text that is no valid Unicode, and zero bytes',
    id: 15,
    body: pipelineBody(15, one => (one.object_attributes.ref = 'a\\ud800b\\u0000c')).replaceAll('\\\\', '\\'),
  },
  {
    name: 'jobs that are none among those that are',
    id: 17,
    body: pipelineBody(17, one => one.builds.push({}, null as never, { id: 'x' }, [] as never)),
  },
]

describe('bad input to the daemon', () => {
  it('answers bad input with the documented status, quarantines undecodable deliveries, and keeps running', async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken,
    })
    const pipelines = (): unknown[] =>
      receiver.spans.filter(({ kind }) => kind === 'server').map(({ attributes }) => attributes['pipeline.id'])

    for (const { name, body, headers, status, message } of refused) {
      const answer = await daemon.post(body, { ...pipelineHook, ...headers })
      const reported = (await answer.json()) as { message: string }
      expect([name, answer.status, reported]).toEqual([
        name,
        status,
        { message: expect.stringMatching(message) as string },
      ])
    }
    const large = await pour(Number(new URL(daemon.url).port), 30e6, { 'x-service-token': webhookToken })
    expect(large).toMatch(/^HTTP\/1\.1 413 [^]*too large/)
    expect((await fetch(daemon.webhooks)).status).toBe(405)
    expect((await fetch(`${daemon.url}/webhook`, { method: 'POST' })).status).toBe(404)

    for (const { name, body } of [...kept, ...endured]) {
      const answer = await daemon.post(body)
      expect([name, answer.status]).toEqual([name, 202])
    }
    const last = pipelineBody(99)
    const { status } = await daemon.post(last, { ...pipelineHook, ...signed(last, now()), 'x-service-token': '' })
    expect(status).toBe(202)
    const expected = [...endured.map(({ id }) => id), 99]
    await receiver.until(() => expected.every(id => pipelines().includes(id)))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })

    expect(pipelines().sort()).toEqual(expected.sort())
    for (const { start, end, attributes } of receiver.spans) {
      expect(end).toBeGreaterThanOrEqual(start)
      expect(start).toBeGreaterThan(Date.UTC(2000, 0))
      expect(Object.keys(attributes)).not.toContain('polluted')
    }
    const list = await daemon.command('inbox', 'list', '--json')
    const { quarantined } = JSON.parse(list.stdout) as { quarantined: { reason: string }[] }
    // The list is reversed, because it begins with the newest reason.
    const reasons = quarantined.map(({ reason }) => reason).toReversed()
    expect(reasons).toHaveLength(kept.length)
    kept.forEach(({ name, reason }, index) =>
      expect([name, reasons[index]]).toEqual([name, expect.stringMatching(reason)]),
    )
    expect(daemon.process.log.filter(({ level }) => level >= 50)).toEqual([])
    expect(daemon.output).not.toContain(webhookToken)
  })
})
