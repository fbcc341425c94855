// A webhook as the platform would send it: the JSON of the event, and the headers.
import { createHmac } from 'node:crypto'
import { deploymentPayload, jobPayload, pipelinePayload, type PayloadOptions } from './payloads.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'

export interface Delivery {
  readonly kind: 'pipeline' | 'job' | 'deployment' | 'change' | 'issue'
  /** When the event happened on the simulated platform, in Unix ms. */
  readonly at: number
  readonly pipelineId: number
  readonly jobId: number | undefined
  /** The value of the `Idempotency-Key` header. A resent webhook has the same key. */
  readonly key: string
  /** The JSON text of the event. */
  readonly body: string
}

interface SecretOptions {
  /** A token that is sent unchanged in the `…-Token` header. */
  readonly token?: string | undefined
  /** The signing token: `whsec_` followed by the signing key in base64. Deliveries are signed with this key (Standard Webhooks). */
  readonly signingToken?: string | undefined
}

export interface HeaderOptions extends SecretOptions {
  /** The prefix of the platform's headers: `X-Service-` or `X-Gitlab-`. */
  readonly headerPrefix: string
  readonly instance: string
}

/** Creates a delivery. The current state is serialized immediately, because it changes later. */
export function deliveryOf(news: News, options: PayloadOptions, random: Random): Delivery {
  const { kind, pipeline, job } = news
  const payload = job === undefined ? pipelinePayload(pipeline, options, random) : jobPayload(job, pipeline, options)
  return deliveryWith(payload, kind, news, random)
}

/** Creates a delivery with this body. `about`: the time of the event, and either its pipeline or its job in a pipeline. */
export function deliveryWith(
  payload: object,
  kind: Delivery['kind'],
  { at, pipeline, job }: Pick<News, 'at' | 'pipeline' | 'job'>,
  random: Random,
): Delivery {
  return { kind, at, pipelineId: pipeline.id, jobId: job?.id, key: random.uuid(), body: JSON.stringify(payload) }
}

/** Returns the deployment event of a job that deploys. Returns undefined for other jobs, and before the job runs. */
export function deploymentOf(news: News, options: PayloadOptions, random: Random): Delivery | undefined {
  const { at, pipeline, job } = news
  const payload = job && deploymentPayload(job, pipeline, at, options)
  return payload && deliveryWith(payload, 'deployment', news, random)
}

const events = {
  pipeline: 'Pipeline Hook',
  job: 'Job Hook',
  deployment: 'Deployment Hook',
  change: 'Merge Request Hook',
  issue: 'Issue Hook',
} as const

/**
 * Returns the headers of a delivery. `now` is the real Unix time in ms, not the platform's time, because receivers check signatures against the real
 * time.
 */
export function headersOf(
  { kind, key, body }: Delivery,
  options: HeaderOptions,
  now: number,
  random: Random,
): Record<string, string> {
  const { headerPrefix, instance, token, signingToken } = options
  const timestamp = String(Math.floor(now / 1000))
  return {
    'content-type': 'application/json',
    'user-agent': 'Brightwater/18.5',
    'idempotency-key': key,
    [`${headerPrefix}Event`]: events[kind],
    [`${headerPrefix}Instance`]: instance,
    [`${headerPrefix}Webhook-UUID`]: random.uuid(),
    [`${headerPrefix}Event-UUID`]: random.uuid(),
    ...(token === undefined ? {} : { [`${headerPrefix}Token`]: token }),
    ...(signingToken === undefined
      ? {}
      : {
          'webhook-id': key,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signatureOf(`${key}.${timestamp}.${body}`, signingToken)}`,
        }),
  }
}

function signatureOf(content: string, signingToken: string): string {
  const key = Buffer.from(signingToken.replace(/^whsec_/, ''), 'base64')
  return createHmac('sha256', key).update(content).digest('base64')
}
