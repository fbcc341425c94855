// Runs the ingress with a real listener and a real SQLite store, for tests that send webhooks to it.
import { Agent, request } from 'undici'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'
import { silentLog } from '../../../src/lib/log.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createDeliveryHeaders } from '../../../src/platform/webhook/delivery-headers.ts'
import { noEvents } from '../../../src/platform/webhook/event-selection.ts'
import { vendors } from '../../../src/platform/vendor.ts'
import type { WebhookSecrets } from '../../../src/core/receive/verify-delivery.ts'
import {
  createWebhookIngress,
  type WebhookIngress,
  type WebhookIngressOptions,
} from '../../../src/core/receive/webhook.ts'
import { takeInOf } from '../../flow/world.ts'
import { openSqlite } from '../../support/stores.ts'
import type { Delivery } from '../../../src/core/take-in/take-in.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import { createHealth } from '../../../src/daemon/listeners/health.ts'
import { createListener, type Limits, type Listener } from '../../../src/daemon/listeners/listener.ts'

export const token = 'correct horse battery staple'
export const signingSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
export const pipelineBody = Buffer.from(
  JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id: 31, status: 'running', ref: 'main', created_at: '2026-06-01 12:00:00 UTC' },
    project: { id: 3, path_with_namespace: 'acme/shop', web_url: 'https://git.example.com/acme/shop' },
    builds: [],
  }),
)

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly message: string
}

export interface RunningIngress {
  readonly ingress: WebhookIngress
  readonly store: Store
  readonly listener: Listener
  readonly port: number
  readonly url: string
  /** The accepted deliveries, in order. */
  readonly accepted: readonly Delivery[]
  readonly post: (body: Buffer | string, headers?: Record<string, string>) => Promise<Answer>
}

export interface IngressSetting extends Partial<WebhookIngressOptions> {
  /** The secrets of the only sender. */
  readonly secrets?: WebhookSecrets | (() => WebhookSecrets)
  readonly requireSignature?: boolean
  readonly limits?: Partial<Limits>
  readonly store?: Store
  readonly basePath?: string
}

export const open: WebhookSecrets = { tokens: [], signing: [] }
export const byToken: WebhookSecrets = { tokens: [new Secret(token)], signing: [] }
export const bySignature: WebhookSecrets = { tokens: [], signing: [new Secret(signingSecret)] }
export const byBoth: WebhookSecrets = { tokens: byToken.tokens, signing: bySignature.signing }

/** Starts an ingress that is stopped at the end of the test. */
export async function runIngress(setting: IngressSetting = {}): Promise<RunningIngress> {
  const { secrets = byToken, requireSignature = false, limits, basePath, ...options } = setting
  const store = setting.store ?? openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
  const log = options.log ?? silentLog()
  const accepted: Delivery[] = []
  const takeIn = takeInOf(store)
  const ingress = createWebhookIngress({
    take: async delivery => {
      const outcome = await takeIn.take(delivery)
      if (outcome === 'accepted') accepted.push(delivery)
      return outcome
    },
    senders: () => [{ secrets: typeof secrets === 'function' ? secrets() : secrets, requireSignature }],
    reads: createDeliveryHeaders(vendors.generic, noEvents),
    now: Date.now,
    ...options,
    log,
  })
  const health = createHealth({ proveWritable: () => store.proveWritable(), stopping: () => false, now: Date.now, log })
  const listener = createListener({
    name: 'public',
    host: '127.0.0.1',
    port: 0,
    trustProxy: false,
    health,
    log,
    limits,
    basePath,
  })
  listener.register(ingress.routes)
  const { port, url } = await listener.start()
  const agent = new Agent({ connections: 100 })
  onTestFinished(async () => {
    await agent.destroy()
    await listener.stop(1_000)
    await store.close()
  })
  return {
    ingress,
    store,
    listener,
    port,
    url,
    accepted,
    post: async (body, headers) => {
      const answer = await request(`${url}/webhooks`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook', ...headers },
        body,
      })
      const text = await answer.body.text()
      const { message } = JSON.parse(text) as { message: string }
      return { status: answer.statusCode, headers: answer.headers, text, message }
    },
  }
}

/** The headers of a signed delivery. `at`: time of the signature, Unix time in ms. */
export function signed(
  body: Buffer | string,
  { id = 'd1', at = Date.now(), secret = signingSecret }: { id?: string; at?: number; secret?: string } = {},
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, new Date(at), body),
  }
}
