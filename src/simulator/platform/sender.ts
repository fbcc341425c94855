// Sends the simulated platform's webhooks over HTTP with keep-alive. Like the platform, it does not retry. An option makes it lose a share of the
// deliveries.
import { Pool } from 'undici'
import { reasonOf } from '../../lib/fault.ts'
import { headersOf, type Delivery, type HeaderOptions } from './delivery.ts'
import { Random } from './random.ts'
import { defaultInstance } from './world.ts'

export interface SendOptions extends Partial<HeaderOptions> {
  /** The full URL to which the webhooks are sent. */
  readonly url: string
  /** The seed of all the sender's random choices. The default is 1. */
  readonly seed?: number | undefined
  /** The share of deliveries that are never sent, from 0 to 1. */
  readonly loss?: number | undefined
  /** The number of concurrent requests, each on its own connection. The default is 10. */
  readonly concurrency?: number | undefined
  readonly onSent?: ((delivery: Delivery, outcome: SendOutcome) => void) | undefined
}

export type SendOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'failed'; readonly reason: string }

export interface SendCounts {
  sent: number
  /** The number of deliveries with a 2xx response. */
  accepted: number
  /** The number of deliveries with any other response status. */
  refused: number
  /** The number of deliveries without a response. */
  failed: number
  /** The number of deliveries that were randomly dropped instead of being sent. */
  lost: number
}

/** The timeout of a webhook request, ms. The platform's timeout is also 10 s. */
const timeoutMs = 10_000

export class WebhookSender {
  readonly #options: SendOptions
  readonly #headers: HeaderOptions
  readonly #path: string
  readonly #pool: Pool
  readonly #random: Random
  readonly #underWay = new Set<Promise<void>>()
  #closed: Promise<void> | undefined
  readonly #counts: SendCounts = { sent: 0, accepted: 0, refused: 0, failed: 0, lost: 0 }

  constructor(options: SendOptions) {
    const url = new URL(options.url)
    this.#options = options
    this.#headers = {
      ...options,
      headerPrefix: options.headerPrefix ?? 'X-Service-',
      instance: options.instance ?? defaultInstance,
    }
    this.#path = url.pathname + url.search
    this.#pool = new Pool(url.origin, {
      connections: options.concurrency ?? 10,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    this.#random = new Random(options.seed ?? 1)
  }

  get counts(): Readonly<SendCounts> {
    return { ...this.#counts }
  }

  /** Queues and sends a delivery. Never rejects. */
  async send(delivery: Delivery): Promise<void> {
    if (this.#random.chance(this.#options.loss ?? 0)) {
      this.#counts.lost += 1
      return
    }
    const work = this.#sendOne(delivery)
    this.#underWay.add(work)
    await work
    this.#underWay.delete(work)
  }

  /** Sends all deliveries concurrently, over all connections. */
  async sendAll(deliveries: Iterable<Delivery>): Promise<void> {
    const left = deliveries[Symbol.iterator]()
    const worker = async (): Promise<void> => {
      for (let next = left.next(); next.done !== true; next = left.next()) await this.send(next.value)
    }
    await Promise.all(Array.from({ length: this.#options.concurrency ?? 10 }, worker))
  }

  /** Waits for requests in flight, then closes the connections. */
  async close(): Promise<void> {
    this.#closed ??= Promise.all(this.#underWay).then(() => this.#pool.close())
    await this.#closed
  }

  async #sendOne(delivery: Delivery): Promise<void> {
    const outcome = await this.#post(delivery)
    this.#counts.sent += 1
    this.#counts[countOf(outcome)] += 1
    this.#options.onSent?.(delivery, outcome)
  }

  async #post(delivery: Delivery): Promise<SendOutcome> {
    try {
      const headers = headersOf(delivery, this.#headers, Date.now(), this.#random)
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers,
        body: delivery.body,
      })
      return { kind: 'answered', status: statusCode, body: await body.text() }
    } catch (error) {
      return { kind: 'failed', reason: reasonOf(error) }
    }
  }
}

function countOf(outcome: SendOutcome): 'accepted' | 'refused' | 'failed' {
  if (outcome.kind === 'failed') return 'failed'
  return outcome.status >= 200 && outcome.status < 300 ? 'accepted' : 'refused'
}

export class ReportedEnds {
  readonly #last = new Map<number, string>()

  /** Records a delivery and its outcome. It must be called after every send. */
  record({ kind, pipelineId, body }: Delivery, outcome: SendOutcome): void {
    if (kind !== 'pipeline' || outcome.kind !== 'answered' || outcome.status >= 300) return
    const { object_attributes: reported } = JSON.parse(body) as { object_attributes: { status: string } }
    this.#last.set(pipelineId, reported.status)
  }

  /** Whether a webhook has reported that the pipeline has this status. */
  has(pipelineId: number, status: string): boolean {
    return this.#last.get(pipelineId) === status
  }
}
