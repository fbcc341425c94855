// The one place for the rules of every request: budget, credentials, moves, retries, pauses.
//
//   call ─► queue of its priority ─► budget ─► send ─► judge ─► JSON
//                                    ▲                 │ moved, moved back, token renewed: at once
//                                    │                 │ 429: the budget pauses all requests of this token; where it is the limit of
//                                    │                 │      one endpoint, this request alone
//                                    └─────────────────┤ 5xx, network, time-out, JSON cut short: after a pause with jitter
//                                                      └─ anything else, or too often: PlatformError
//
// What changes something at the platform is sent once for each 429 and 401, and never again where its outcome is not known:
// its caller looks at what is there.
import PQueue from 'p-queue'
import { backoff } from '../../lib/backoff.ts'
import { redact } from '../../lib/redaction.ts'
import { budgetFactsOf, isOfEndpoint } from './rate-limit.ts'
import { createMoves } from './moved.ts'
import { credentialHeaders, trimToken } from './credentials.ts'
import type { PlatformError } from './platform-error.ts'
import { errorOfAnswer, errorOfConnection, errorOfMovedChange, errorOfNoApi } from './error-messages.ts'
import { createStreamer, type StreamOptions } from './streamer.ts'
import { exchange, type Method } from './exchange.ts'
import { judge } from './judge.ts'
import { saidBy } from './error-body.ts'
import type { CallOptions, RequesterOptions } from './call.ts'
import { longestPause, type Priority } from './budget.ts'
import type { Streamed } from './stream.ts'

export interface RestAnswer {
  readonly json: unknown
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Where the answer came from in the end. */
  readonly url: URL
  readonly endpoint: string
}

/** A request that changes something at the platform. */
export interface Change {
  readonly method: Exclude<Method, 'GET'>
  /** Sent as JSON. */
  readonly body: Readonly<Record<string, unknown>>
  /** Values of the body that no error may repeat. */
  readonly secrets: readonly string[]
}

export interface Requester {
  /** Rejects with a PlatformError, or with the reason of an aborted signal. */
  get(url: URL, options: CallOptions): Promise<RestAnswer>
  /** Likewise. After `network`, `timeout` or `unavailable` it is not known whether the change was made. */
  change(url: URL, change: Change, options: CallOptions): Promise<RestAnswer>
  /**
   * What `read` makes of an answer that it reads as it comes. A request that was not answered is sent again as any other; an answer that
   * breaks off is not: `read` rejects then.
   */
  stream<T>(url: URL, options: StreamOptions, read: (answer: Streamed) => Promise<T>): Promise<T>
  /** Ends everything under way. */
  close(): Promise<void>
}

/** `pause`: only this request waits for so long, ms; undefined: the budget makes all wait. */
type Result =
  | { readonly ok: true; readonly answer: RestAnswer }
  | { readonly ok: false; readonly error: PlatformError; readonly pause?: number | undefined }

/** Sends for one try: moves, one way back, one renewed token. */
const maxHops = 6

export function createRequester(options: RequesterOptions): Requester {
  const { dispatcher, budget, clock, log, retry } = options
  const moves = createMoves()
  const closing = new AbortController()
  // A queue for each priority: a backfill that waits for its budget holds no place that enrichment needs.
  const queue = () => new PQueue({ concurrency: options.concurrency })
  const queues: Record<Priority, PQueue> = {
    ...{ enrich: queue(), page: queue(), poll: queue(), backfill: queue(), inside: queue() },
  }
  let pausedUntil = -Infinity

  async function send(url: URL, change: Change | undefined, call: CallOptions, signal: AbortSignal, refusals: number) {
    await budget.take(call.priority, signal)
    call.onSend?.()
    const token = trimToken(options.token())
    const headers = {
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...credentialHeaders(options.tokenType, token),
      ...(change === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const method = change?.method ?? 'GET'
    const body = change === undefined ? undefined : JSON.stringify(change.body)
    const sentAt = clock.now()
    const outcome = await exchange(dispatcher, { method, url, headers, body }, options.limits, signal)
    const now = clock.now()
    const status = outcome.outcome === 'answer' ? outcome.status : outcome.outcome
    log.debug(
      { endpoint: endpointOf(method, url), status, ms: now - sentAt, priority: call.priority },
      'platform request',
    )
    if (outcome.outcome !== 'answer') return { outcome, token }
    const { headers: got, body: answer } = outcome
    const keys = outcome.status === 429 ? saidBy(answer, got['content-type'], []).keys : undefined
    return { outcome, token, pause: await answered(outcome.status, got, refusals, keys) }
  }

  /** Hands the budget what an answer's headers have for it. Answers with the pause of this request alone, ms. */
  async function answered(
    status: number,
    headers: Streamed['headers'],
    refusals: number,
    keys: readonly string[] = [],
  ): Promise<number | undefined> {
    if (status === 401) options.onUnauthorized?.()
    const now = clock.now()
    const facts = budgetFactsOf(status, headers, now, backoff(refusals + 1, retry))
    if (isOfEndpoint(status, headers, keys)) return facts.pause
    // Most answers have no rate limit headers: then the budget need not be written.
    if (Object.keys(facts).length > 0) await budget.observed(facts)
    if (facts.pause !== undefined && now + facts.pause > pausedUntil) {
      // One that follows soon upon the one before is the same trouble.
      if (pausedUntil + longestPause <= now) {
        log.warn({ pauseMs: facts.pause }, 'the platform asks for a pause: all requests wait')
      }
      pausedUntil = now + facts.pause
    }
    return undefined
  }

  /** One try: until there is an answer that is no move. */
  async function follow(
    asked: URL,
    change: Change | undefined,
    call: CallOptions,
    signal: AbortSignal,
    refusals: number,
  ): Promise<Result> {
    const endpoint = endpointOf(change?.method ?? 'GET', asked)
    let url = withPath(asked, moves.current(asked.pathname))
    for (let hop = 0; hop < maxHops; hop++) {
      const { outcome, token, pause } = await send(url, change, call, signal, refusals)
      const secrets = [...(token === undefined ? [] : [token]), ...(change?.secrets ?? [])]
      switch (outcome.outcome) {
        case 'network':
        case 'timeout': {
          const reason = redact(outcome.reason, secrets)
          return failure(errorOfConnection(outcome.outcome, endpoint, reason, outcome.certificate))
        }
        case 'too-large':
          return failure(errorOfAnswer('too-large', endpoint, outcome.said))
        case 'answer': {
          if (outcome.status === 404 && moves.forget(asked.pathname)) {
            url = asked
            continue
          }
          if (outcome.status === 401 && trimToken(options.token()) !== token) continue
          const judgement = judge(outcome, url, endpoint, secrets)
          if (judgement.means === 'error') return { ok: false, error: judgement.error, pause }
          if (judgement.means === 'moved') {
            if (change !== undefined) return failure(errorOfMovedChange(outcome.status, endpoint, judgement.to))
            url = judgement.to
            continue
          }
          if (url.pathname !== asked.pathname) moves.remember(asked.pathname, url.pathname)
          return { ok: true, answer: { json: judgement.json, headers: outcome.headers, url, endpoint } }
        }
      }
    }
    return failure(errorOfNoApi(301, endpoint, 'redirects without end'))
  }

  async function persist(
    url: URL,
    change: Change | undefined,
    call: CallOptions,
    signal: AbortSignal,
  ): Promise<RestAnswer> {
    let failures = 0
    let refusals = 0
    for (;;) {
      const result = await follow(url, change, call, signal, refusals)
      if (result.ok) return result.answer
      const { error } = result
      if (!error.passing) throw error
      if (error.kind === 'limited') {
        // The budget waits, for this request and all others, where the limit is not the endpoint's own. What takes longer is for the caller.
        if (++refusals >= retry.refusals || (result.pause ?? 0) > retry.max) throw error
        if (result.pause !== undefined) await clock.sleep(result.pause, signal)
        continue
      }
      if (change !== undefined || ++failures >= retry.tries) throw error
      await clock.sleep(backoff(failures, retry), signal)
    }
  }

  function endpointOf(method: Method, url: URL): string {
    const { basePath } = options
    return `${method} ${url.pathname.startsWith(basePath) ? url.pathname.slice(basePath.length) : url.pathname}`
  }

  async function queued<T>(call: CallOptions, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = call.signal === undefined ? closing.signal : AbortSignal.any([call.signal, closing.signal])
    signal.throwIfAborted()
    return queues[call.priority].add(() => send(signal), { signal })
  }

  const streamed = createStreamer(options, { moves, endpointOf: url => endpointOf('GET', url), answered })
  return {
    get: (url, call) => queued(call, signal => persist(url, undefined, call, signal)),
    change: (url, change, call) => queued(call, signal => persist(url, change, call, signal)),
    stream: (url, call, read) => queued(call, signal => streamed(url, call, signal, read)),
    close: async () => {
      closing.abort(new Error('the platform client was closed'))
      await dispatcher.destroy()
    },
  }
}

function withPath(url: URL, path: string): URL {
  const moved = new URL(url)
  moved.pathname = path
  return moved
}

function failure(error: PlatformError): Result {
  return { ok: false, error }
}
