// Applies the rules of all requests: budget, credentials, moves, retries, pauses.
//
//   call ─► queue of its priority ─► budget ─► send ─► judge ─► JSON
//                                    ▲                 │ moved, moved back, token renewed: at once
//                                    │                 │ 429: the budget makes all requests of this token wait; if it is the limit
//                                    │                 │      of one endpoint, only this request waits
//                                    └─────────────────┤ 5xx, network, timeout, JSON cut off: after a pause with jitter
//                                                      └─ anything else, or too often: PlatformError
//
// A change is repeated after a 429 or a 401, because these show that it was not made. It is not repeated if its outcome is unknown; the caller must
// then check.
import PQueue from 'p-queue'
import { backoff } from '../../lib/backoff.ts'
import { redact } from '../../lib/redaction.ts'
import { budgetFactsOf, isOfEndpoint, servedAt } from './rate-limit.ts'
import { createMoves, withPath } from './moved.ts'
import { credentialHeaders, trimToken } from './credentials.ts'
import type { CallOptions, Priority } from '../port.ts'
import { errorOfAnswer, errorOfConnection, errorOfMovedChange, errorOfNoApi } from './error-messages.ts'
import { createStreamBegin, type StreamOptions } from './streamer.ts'
import { exchange, type Method } from './exchange.ts'
import { judge } from './judge.ts'
import { parseErrorBody, beginningOfError } from './error-body.ts'
import type { Attempt, RequesterOptions } from './call.ts'
import { maxPause } from './budget.ts'
import type { Streamed } from './stream.ts'

export interface RestAnswer {
  readonly json: unknown
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The URL that answered, after redirects. */
  readonly url: URL
  readonly endpoint: string
}

/** A request that changes something on the platform. */
export interface Change {
  readonly method: Exclude<Method, 'GET'>
  /** The body, which is sent as JSON. */
  readonly body: Readonly<Record<string, unknown>>
  /** Values of the body that must not appear in errors. */
  readonly secrets: readonly string[]
}

export interface Requester {
  /** Rejects with a PlatformError or, if the signal is aborted, with its reason. */
  get(url: URL, options: CallOptions): Promise<RestAnswer>
  /** Rejects like `get`. After an error of kind `network`, `timeout` or `unavailable` it is unknown whether the change was made. */
  change(url: URL, change: Change, options: CallOptions): Promise<RestAnswer>
  /**
   * Passes the streamed answer to `read` and answers its result. A request without an answer is retried like others. If the answer breaks off,
   * `read` rejects.
   */
  stream<T>(url: URL, options: StreamOptions, read: (answer: Streamed) => Promise<T>): Promise<T>
  /** Aborts all unfinished requests. */
  close(): Promise<void>
}

/** Maximum number of sends in one attempt: for moves, one move back, one renewed token. */
const maxHops = 6

export function createRequester(options: RequesterOptions): Requester {
  const { dispatcher, budget, clock, log, retry } = options
  const moves = createMoves()
  const closing = new AbortController()
  // One queue for each priority, so that a backfill that waits for the budget does not block enrichment.
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
    if (outcome.status < 300) options.clockOffset?.observe(servedAt(got), sentAt, now)
    const keys =
      outcome.status === 429 ? parseErrorBody(beginningOfError(answer), got['content-type'], []).keys : undefined
    return { outcome, token, pause: await answered(outcome.status, got, refusals, keys) }
  }

  /** Passes the rate limit in an answer's headers to the budget. Answers how long this request alone must wait, ms. */
  async function answered(
    status: number,
    headers: Streamed['headers'],
    refusals: number,
    keys: readonly string[] = [],
  ): Promise<number | undefined> {
    if (status === 401) options.onUnauthorized?.()
    if (status < 300) options.onAnswer?.()
    const now = clock.now()
    const facts = budgetFactsOf(status, headers, now, backoff(refusals + 1, retry))
    if (isOfEndpoint(status, headers, keys)) return facts.pause
    // Most answers have no rate limit headers, so the budget need not be written.
    if (Object.keys(facts).length > 0) await budget.observed(facts)
    if (facts.pause !== undefined && now + facts.pause > pausedUntil) {
      // A pause that follows soon after another one is not logged again.
      if (pausedUntil + maxPause <= now) {
        log.warn({ pauseMs: facts.pause }, 'the platform asks for a pause: all requests wait')
      }
      pausedUntil = now + facts.pause
    }
    return undefined
  }

  /** Makes one attempt, which follows moves. */
  async function follow(
    asked: URL,
    change: Change | undefined,
    call: CallOptions,
    signal: AbortSignal,
    refusals: number,
  ): Promise<Attempt<RestAnswer>> {
    const endpoint = endpointOf(change?.method ?? 'GET', asked)
    let url = withPath(asked, moves.current(asked.pathname))
    for (let hop = 0; hop < maxHops; hop++) {
      const { outcome, token, pause } = await send(url, change, call, signal, refusals)
      const secrets = [...(token === undefined ? [] : [token]), ...(change?.secrets ?? [])]
      switch (outcome.outcome) {
        case 'network':
        case 'timeout': {
          const reason = redact(outcome.reason, secrets)
          return { error: errorOfConnection(outcome.outcome, endpoint, reason, outcome.certificate) }
        }
        case 'too-large':
          return { error: errorOfAnswer('too-large', endpoint, outcome.detail) }
        case 'answer': {
          if (outcome.status === 404 && moves.forget(asked.pathname)) {
            url = asked
            continue
          }
          if (outcome.status === 401 && trimToken(options.token()) !== token) continue
          const judgement = await judge(outcome, url, endpoint, secrets)
          if (judgement.means === 'error') return { error: judgement.error, pause }
          if (judgement.means === 'moved') {
            if (change !== undefined) return { error: errorOfMovedChange(outcome.status, endpoint, judgement.to) }
            url = judgement.to
            continue
          }
          if (url.pathname !== asked.pathname) moves.remember(asked.pathname, url.pathname)
          return { answer: { json: judgement.json, headers: outcome.headers, url, endpoint } }
        }
      }
    }
    return { error: errorOfNoApi(301, endpoint, 'redirects without end') }
  }

  /** `tries`: maximum number of attempts that fail without a 429. */
  async function withRetries<T>(
    attempt: (refusals: number) => Promise<Attempt<T>>,
    signal: AbortSignal,
    tries = retry.tries,
  ): Promise<T> {
    let failures = 0
    let refusals = 0
    for (;;) {
      const result = await attempt(refusals)
      if ('answer' in result) return result.answer
      const { error, pause } = result
      if (!error.passing) throw error
      if (error.kind === 'limited') {
        // Unless the limit is that of one endpoint, the budget makes all requests wait. A long pause is left to the caller.
        if (++refusals >= retry.refusals || (pause ?? 0) > retry.max) throw error
        if (pause !== undefined) await clock.sleep(pause, signal)
        continue
      }
      if (++failures >= tries) throw error
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

  const begin = createStreamBegin(options, { moves, endpointOf: url => endpointOf('GET', url), answered })
  return {
    get: (url, call) =>
      queued(call, signal => withRetries(refusals => follow(url, undefined, call, signal, refusals), signal)),
    change: (url, change, call) =>
      queued(call, signal => withRetries(refusals => follow(url, change, call, signal, refusals), signal, 1)),
    stream: (url, call, read) =>
      queued(call, async signal => read(await withRetries(refusals => begin(url, call, signal, refusals), signal))),
    close: async () => {
      closing.abort(new Error('the platform client was closed'))
      await dispatcher.destroy()
    },
  }
}
