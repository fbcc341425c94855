// The webhook route: checks the sender of a delivery, has it taken in, and answers what came of it.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { createProvenPeers, type ProvenPeers } from '../lib/proven-peers.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import { sparseWarnings } from '../lib/sparse-warnings.ts'
import type { Delivery, TakenIn } from '../processing/take-in.ts'
import { bodyBytesWithin, createBodyBudget, type Standing } from './body-budget.ts'
import type { DeliveryHeaders, Headers } from '../platform/port/webhook.ts'
import { looksLikeJsonObject } from './json-ends.ts'
import { readBody } from './read-body.ts'
import { createReadingTurns } from './reading-turns.ts'
import { admit, isTokenRight, type Admission, type Sender } from './verify-delivery.ts'
import { createWebhookCounts, type Counted, type WebhookCounts } from './webhook-counts.ts'
import { refusals, type Refusal, type RefusalAnswer } from './webhook-refusals.ts'

export interface WebhookIngressOptions {
  /** Rejects with a StoreError if the store cannot write. */
  readonly take: (delivery: Delivery) => Promise<TakenIn>
  readonly reads: DeliveryHeaders
  /** Called for every request, as secrets may change while the daemon runs. */
  readonly senders: () => readonly Sender[]
  /** Unix time in milliseconds. */
  readonly now: () => number
  readonly log: Log
  /** The largest body, bytes; 25 MiB, as much as the platform sends. */
  readonly maxBody?: number | undefined
  /** Bytes of all bodies in flight; default: 64 MiB. At least one largest body. Half of it is reserved for verified bodies, if a largest one fits into the rest. */
  readonly maxInFlight?: number | undefined
  /** Known senders, shared with the listener, which prefers them too. */
  readonly peers?: ProvenPeers | undefined
}

export interface WebhookIngress {
  /** `POST /webhooks` */
  readonly routes: FastifyPluginAsync
  readonly counts: WebhookCounts
}

/** The platform sends 25 MB at most. */
const defaultMaxBody = 25 * 1024 * 1024
/** Longer headers are ignored, UTF-16 units. */
const maxInstance = 2_048
const maxEvent = 255

type Answer =
  | { readonly message: string; readonly status: number }
  /** `cause`: for the log alone. */
  | { readonly refused: Refusal; readonly cause?: string }

const notOfInterest: Answer = { status: 200, message: 'Events of this kind are ignored.' }
const outcomes: Readonly<Record<Exclude<TakenIn, object>, Answer>> = {
  accepted: { status: 202, message: 'Accepted.' },
  duplicate: { status: 200, message: 'Duplicate delivery.' },
  full: { refused: 'full' },
}

export function createWebhookIngress(options: WebhookIngressOptions): WebhookIngress {
  const { log, now, reads } = options
  const maxBody = options.maxBody ?? defaultMaxBody
  const total = Math.max(maxBody, options.maxInFlight ?? bodyBytesWithin(undefined))
  // One largest body must fit into the share of unproven ones.
  const monotonic = (): number => performance.now()
  const budget = createBodyBudget({ total, unproven: Math.max(maxBody, total / 2), now: monotonic })
  const turns = createReadingTurns(monotonic)
  const peers = options.peers ?? createProvenPeers()
  const counts = createWebhookCounts(reads.kinds)
  const count = (name: Counted): void => counts.count(name)
  const warn = sparseWarnings(log, now)

  /** The answer, if the headers alone decide it; undefined: read the body. */
  function answerToHeaders(headers: Headers, admission: Admission): Answer | undefined {
    if ('refused' in admission) return { refused: admission.refused }
    const refused = refusalOf(headers)
    return refused && unlessUnwanted(refused, headers, admission)
  }

  function refusalOf(headers: Headers): Answer | undefined {
    if (!isJson(headers['content-type'])) return { refused: 'type' }
    const encoding = headers['content-encoding']
    if (typeof encoding === 'string' && encoding.toLowerCase() !== 'identity') return { refused: 'encoding' }
    return Number(headers['content-length'] ?? 0) > maxBody ? { refused: 'size' } : undefined
  }

  /** A refusal of an unwanted event would make the platform disable the webhook in the end. Without its body, the header says what it is. */
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
    const { outcome, claim, discard } = readBody(request.raw, maxBody, budget, turns, standingOf(request, admission))
    try {
      const read = await outcome
      if ('refused' in read) return unlessUnwanted(read, request.headers, admission)
      const isSigned = 'verify' in admission
      const sender = isSigned ? admission.verify(read.body) : senderOf(admission)
      if (isSigned) {
        if (sender === undefined) {
          discard()
          return { refused: 'signature' }
        }
        peers.proved(request.raw.socket, request.ip)
      }
      const unwanted = unwantedOf(request.headers, read.body)
      if (unwanted !== undefined) return unwanted
      if (!looksLikeJsonObject(read.body)) return { refused: 'shape' }
      if (!claim.prove(read.body.length)) return { refused: 'budget' }
      const answer = await takeIn(request.headers, read.body, sender, isSigned ? 'signed' : 'sent')
      // It is written. What failed may still be on its way to a store that does not answer.
      if (!('refused' in answer)) discard()
      return answer
    } finally {
      claim.release()
    }
  }

  function standingOf(request: FastifyRequest, admission: Admission): Standing {
    if (isTokenRight(admission)) return 'verify' in admission ? 'with token' : 'proven'
    return peers.knows(request.raw.socket, request.ip) ? 'known' : 'stranger'
  }

  /** If there are several platforms, the secret says whose delivery it is; the header is unsigned. */
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
      if (outcome !== 'full') count(outcome)
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
      // Fastify must not read the body: it is read within the budget once the headers are checked.
      app.addContentTypeParser('*', (_request, _payload, done) => done(null))
      app.decorateRequest('admission')
      app.post('/webhooks', {
        onRequest: async (request, reply) => {
          count('received')
          const admission = admit(request.headers, options.senders(), reads, now())
          if (isTokenRight(admission)) peers.proved(request.raw.socket, request.ip)
          const answer = answerToHeaders(request.headers, admission)
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

/** `application/json` or a vendor's `…+json`, with parameters or without (RFC 6838, section 4.2.8). */
function isJson(contentType: string | readonly string[] | undefined): boolean {
  return typeof contentType === 'string' && /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType)
}
