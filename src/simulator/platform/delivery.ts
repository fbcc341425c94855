// One webhook as the platform would send it: the event's JSON, and its headers.
import { createHmac } from 'node:crypto'
import { deploymentPayload, jobPayload, pipelinePayload, type PayloadOptions } from './payloads.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'

export interface Delivery {
  readonly kind: 'pipeline' | 'job' | 'deployment' | 'change' | 'issue'
  /** When it happened on the simulated platform, Unix ms. */
  readonly at: number
  readonly pipelineId: number
  readonly jobId: number | undefined
  /** The Idempotency-Key: a resend has the same. */
  readonly key: string
  /** JSON. */
  readonly body: string
}

interface SecretOptions {
  /** Sent unchanged in the header `…-Token`. */
  readonly token?: string | undefined
  /** `whsec_` and the key in base64: the delivery is signed (Standard Webhooks). */
  readonly signingToken?: string | undefined
}

export interface HeaderOptions extends SecretOptions {
  /** `X-Service-` or `X-Gitlab-`. */
  readonly headerPrefix: string
  readonly instance: string
}

/** Serializes the current state, because it changes later. */
export function deliveryOf(news: News, options: PayloadOptions, random: Random): Delivery {
  const { kind, pipeline, job } = news
  const payload = job === undefined ? pipelinePayload(pipeline, options, random) : jobPayload(job, pipeline, options)
  return deliveryWith(payload, kind, news, random)
}

/** `about`: the time of the event, and its pipeline, or its job of a pipeline. */
export function deliveryWith(
  payload: object,
  kind: Delivery['kind'],
  { at, pipeline, job }: Pick<News, 'at' | 'pipeline' | 'job'>,
  random: Random,
): Delivery {
  return { kind, at, pipelineId: pipeline.id, jobId: job?.id, key: random.uuid(), body: JSON.stringify(payload) }
}

/** The deployment event of a job that deploys; undefined for other jobs, and before the job runs. */
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

/** `now`: real Unix ms, not the platform's, because receivers check signatures against the real time. */
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
