// The webhook route: verifies the sender of a delivery, has the delivery taken in, and responds with the outcome.
import { networkOf } from '../../lib/network-of.ts'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { reasonOf } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import type { Delivery, TakenIn } from '../take-in/take-in.ts'
import type { DeliveryHeaders, Headers } from '../../platform/port/webhook.ts'
import { readBody, createWaitingBytes, waitingBytesWithin, type WaitingBytesLimits } from './read-body.ts'
import { admit, isProven, type Admission, type Sender } from './verify-delivery.ts'
import {
  createWebhookCounts,
  refusals,
  type Counted,
  type WebhookCounts,
  type Refusal,
  type RefusalAnswer,
} from './webhook-counts.ts'

export interface WebhookIngressOptions {
  /** Takes a delivery in. Rejects with a StoreError if the store cannot write. */
  readonly take: (delivery: Delivery) => Promise<TakenIn>
  readonly reads: DeliveryHeaders
  /** Returns the senders. It is called for every request, because secrets may change while the daemon runs. */
  readonly senders: () => readonly Sender[]
  /** Returns the Unix time in ms. */
  readonly now: () => number
  readonly log: Log
  /** The maximum size of a body in bytes. Default: 25 MiB, the maximum that the platform sends. */
  readonly maxBody?: number | undefined
  /** The container's memory in bytes, from which the limits for waiting bodies are derived. If undefined, no memory limit is known. */
  readonly memory?: number | undefined
  /** The limits for waiting bodies in bytes, if they do not depend on the memory. */
  readonly waiting?: WaitingBytesLimits | undefined
  /** The maximum number of requests per second from one address that do not show a correct secret. */
  readonly maxRefusals?: number | undefined
}

export interface WebhookIngress {
  /** The Fastify plugin with the route `POST /webhooks`. */
  readonly routes: FastifyPluginAsync
  readonly counts: WebhookCounts
}

/** The default maximum size of a webhook body in bytes. The platform sends 25 MB at most. */
const defaultMaxBody = 25 * 1024 * 1024
const defaultMaxRefusals = 50
/** The maximum length of the instance header in UTF-16 units. A longer header is ignored. */
const maxInstance = 2_048
const maxEvent = 255

type Answer =
  | { readonly message: string; readonly status: number }
  /** `cause` is the reason for a rejection. Only the log shows it. */
  | { readonly refused: Refusal; readonly cause?: string }

const notOfInterest: Answer = { status: 200, message: 'Events of this kind are ignored.' }
const outcomes: Readonly<Record<Exclude<TakenIn, object>, Answer>> = {
  accepted: { status: 202, message: 'Accepted.' },
  duplicate: { status: 200, message: 'Duplicate delivery.' },
  full: { refused: 'full' },
  'no object': { refused: 'shape' },
}

export function createWebhookIngress(options: WebhookIngressOptions): WebhookIngress {
  const { log, now, reads } = options
  const maxBody = options.maxBody ?? defaultMaxBody
  const waiting = createWaitingBytes(options.waiting ?? waitingBytesWithin(options.memory, maxBody))
  const rate = createRefusalRate(options.maxRefusals ?? defaultMaxRefusals, now)
  const counts = createWebhookCounts(reads.kinds)
  const count = (name: Counted): void => counts.count(name)
  const warn = sparseWarnings(log, now)

  /** Returns the response if the headers alone determine it; undefined if the body must be read. */
  function answerToHeaders({ headers, ip }: FastifyRequest, admission: Admission): Answer | undefined {
    if (!isProven(admission) && !rate.allows(ip)) return { refused: 'rate' }
    if ('refused' in admission) {
      rate.refused(ip)
      return { refused: admission.refused }
    }
    const refused = refusalOf(headers)
    return refused && unlessUnwanted(refused, headers, admission)
  }

  function refusalOf(headers: Headers): Answer | undefined {
    if (!isJson(headers['content-type'])) return { refused: 'type' }
    const encoding = headers['content-encoding']
    if (typeof encoding === 'string' && encoding.toLowerCase() !== 'identity') return { refused: 'encoding' }
    return Number(headers['content-length'] ?? 0) > maxBody ? { refused: 'size' } : undefined
  }

  /**
   * Responds with 200 instead of a rejection if the event is unwanted, because the platform would disable the webhook after repeated error responses.
   * The body is not read here, so the event is identified by its header.
   */
  function unlessUnwanted(refused: Answer, headers: Headers, admission: Admission): Answer {
    return ('admitted' in admission ? unwantedOf(headers) : undefined) ?? refused
  }

  function unwantedOf(headers: Headers, body?: Buffer): Answer | undefined {
    const kind = reads.unwanted(headers, body && (() => body))
    if (kind === undefined) return undefined
    count(`ignored ${kind}`)
    return notOfInterest
  }

  async function receive(request: FastifyRequest, admission: Admission): Promise<Answer> {
    const held = waiting.body(isProven(admission))
    try {
      const read = await readBody(request.raw, maxBody, held)
      if ('refused' in read) return unlessUnwanted(read, request.headers, admission)
      const isSigned = 'verify' in admission
      const sender = isSigned ? admission.verify(read.body) : senderOf(admission)
      if (isSigned && sender === undefined) {
        rate.refused(request.ip)
        return { refused: 'signature' }
      }
      held.prove()
      const unwanted = unwantedOf(request.headers, read.body)
      if (unwanted !== undefined) return unwanted
      return await takeIn(request.headers, read.body, sender, isSigned ? 'signed' : 'sent')
    } finally {
      held.release()
    }
  }

  /** If several platforms are configured, the secret determines which platform sent the delivery, because the instance header is not signed. */
  async function takeIn(
    headers: Headers,
    body: Buffer,
    sender: Sender | undefined,
    proof: 'sent' | 'signed',
  ): Promise<Answer> {
    const [instance, event] = [sender?.instance ?? reads.instance(headers), reads.event(headers)]
    try {
      const outcome = await options.take({
        key: reads.key(headers, proof, sender?.instance),
        event: event.length <= maxEvent ? event : '',
        instance: instance !== undefined && instance.length <= maxInstance ? instance : undefined,
        source: 'webhook',
        body,
      })
      if (typeof outcome === 'object') {
        count(`ignored ${outcome.ignored}`)
        return notOfInterest
      }
      if (outcome === 'accepted' || outcome === 'duplicate') count(outcome)
      return outcomes[outcome]
    } catch (error) {
      return { refused: 'store', cause: reasonOf(error) }
    }
  }

  function send(request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
    if (!('refused' in answer)) return reply.code(answer.status).send({ message: answer.message })
    const { status, message, retryAfter }: RefusalAnswer = refusals[answer.refused]
    count(`refused ${answer.refused}`)
    warn(answer.refused, `delivery refused: ${message}`, {
      requestId: request.id,
      remote: request.ip,
      status,
      cause: answer.cause,
    })
    if (retryAfter !== undefined) void reply.header('retry-after', retryAfter)
    return reply.code(status).send({ message })
  }

  return {
    get counts() {
      return counts.read()
    },
    routes: async app => {
      // Fastify must not read the body. The daemon reads it within its limits, after the headers have been checked.
      app.addContentTypeParser('*', (_request, _payload, done) => done(null))
      app.decorateRequest('admission')
      app.post('/webhooks', {
        onRequest: async (request, reply) => {
          count('received')
          const admission = admit(request.headers, options.senders(), reads, now())
          const answer = answerToHeaders(request, admission)
          if (answer !== undefined) return send(request, reply, answer)
          request.setDecorator('admission', admission)
          return undefined
        },
        handler: async (request, reply) =>
          send(request, reply, await receive(request, request.getDecorator<Admission>('admission'))),
      })
    },
  }
}

function senderOf(admission: Admission): Sender | undefined {
  return 'admitted' in admission ? admission.sender : undefined
}

/** Whether the content type is `application/json` or a vendor's `…+json`, with or without parameters (RFC 6838, section 4.2.8). */
function isJson(contentType: string | readonly string[] | undefined): boolean {
  return typeof contentType === 'string' && /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType)
}

// Limits how often an address may send wrong secrets, by counters for the current second.
interface RefusalRate {
  /** Whether a request from this address that does not show a valid token may still be processed in the current second. */
  allows(address: string): boolean
  /** Records that the address has sent a wrong secret, or none. */
  refused(address: string): void
}

/** Limits rejected requests. `max` is the number of rejected requests per second and address. `now` returns the time in ms. */
function createRefusalRate(max: number, now: () => number): RefusalRate {
  const counts = new Map<string, number>()
  let second = NaN
  const current = (): Map<string, number> => {
    const its = Math.floor(now() / 1_000)
    if (its !== second) counts.clear()
    second = its
    return counts
  }
  return {
    allows: address => (current().get(networkOf(address)) ?? 0) < max,
    refused: address => {
      const network = networkOf(address)
      counts.set(network, (current().get(network) ?? 0) + 1)
    },
  }
}
