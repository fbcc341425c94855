// The one place for the rules of every request: budget, credentials, moves, retries, pauses.
//
//   call ─► queue of its priority ─► budget ─► send ─► judge ─► JSON
//                                    ▲                 │ moved, moved back, token renewed: at once
//                                    │                 │ 429: the budget pauses all requests of this token
//                                    └─────────────────┤ 5xx, network, time-out, JSON cut short: after a pause with jitter
//                                                      └─ anything else, or too often: PlatformError
//
// What changes something at the platform is sent once for each 429 and 401, and never again where its outcome is not known:
// its caller looks at what is there.
import PQueue from 'p-queue'
import type { Dispatcher } from 'undici'
import { backoff, type BackoffOptions } from '../../lib/backoff.ts'
import { redact } from '../../lib/redaction.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { budgetFactsOf } from './rate-limit.ts'
import { createMoves } from './moved.ts'
import { credentialHeaders, trimToken, type TokenType } from './credentials.ts'
import type { PlatformError } from './platform-error.ts'
import { errorOfAnswer, errorOfConnection, errorOfMovedChange, errorOfNoApi } from './error-messages.ts'
import { exchange, type ExchangeLimits, type Method } from './exchange.ts'
import { judge } from './judge.ts'
import type { Budget, Priority } from './budget.ts'

export interface RetryRules extends BackoffOptions {
  /** Sends of one request that may fail for the network or a 5xx. */
  readonly tries: number
  /** Sends of one request that may end in a 429. */
  readonly refusals: number
}

export interface RequesterOptions {
  readonly dispatcher: Dispatcher
  /** Asked for every request: the file that holds it may change. */
  readonly token: () => string | undefined
  readonly tokenType: TokenType
  readonly userAgent: string
  readonly budget: Budget
  /** Requests of one priority that are under way at once. */
  readonly concurrency: number
  readonly limits: ExchangeLimits
  readonly retry: RetryRules
  /** Path of the API's base, which errors leave out of the endpoint. */
  readonly basePath: string
  readonly clock: Clock
  readonly log: Log
}

export interface CallOptions {
  readonly priority: Priority
  /** Ends waiting and sending; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called whenever the budget has let the request pass: a deadline for the platform's answer starts here, not before. */
  readonly onSend?: (() => void) | undefined
}

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
  /** Ends everything under way. */
  close(): Promise<void>
}

type Result = { readonly ok: true; readonly answer: RestAnswer } | { readonly ok: false; readonly error: PlatformError }

/** Sends for one try: moves, one way back, one renewed token. */
const maxHops = 6

export function createRequester(options: RequesterOptions): Requester {
  const { dispatcher, budget, clock, log, retry } = options
  const moves = createMoves()
  const closing = new AbortController()
  // A queue for each priority: a backfill that waits for its budget holds no place that enrichment needs.
  const queue = () => new PQueue({ concurrency: options.concurrency })
  const queues: Record<Priority, PQueue> = { enrich: queue(), poll: queue(), backfill: queue() }
  let pausedUntil = 0

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
    if (outcome.outcome === 'answer') {
      const facts = budgetFactsOf(outcome.status, outcome.headers, now, backoff(refusals + 1, retry))
      // Most answers have no rate limit headers: then the budget need not be written.
      if (Object.keys(facts).length > 0) await budget.observed(facts)
      if (facts.pause !== undefined && now + facts.pause > pausedUntil) {
        if (pausedUntil <= now) log.warn({ pauseMs: facts.pause }, 'the platform asks for a pause: all requests wait')
        pausedUntil = now + facts.pause
      }
    }
    return { outcome, token }
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
      const { outcome, token } = await send(url, change, call, signal, refusals)
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
          if (judgement.means === 'error') return failure(judgement.error)
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
        // The budget waits, for this request and all others.
        if (++refusals >= retry.refusals) throw error
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

  async function queued(url: URL, change: Change | undefined, call: CallOptions): Promise<RestAnswer> {
    const signal = call.signal === undefined ? closing.signal : AbortSignal.any([call.signal, closing.signal])
    signal.throwIfAborted()
    return queues[call.priority].add(() => persist(url, change, call, signal), { signal })
  }

  return {
    get: (url, call) => queued(url, undefined, call),
    change: (url, change, call) => queued(url, change, call),
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
