// Applies the rules for all requests: budget, credentials, redirects, retries, pauses.
//
//   call ─► queue of its priority ─► budget ─► send ─► head of response ─► JSON, or the stream of its body
//                                    ▲                 │ moved, token renewed: at once
//                                    │                 │ stream from another host: at once, without credentials and budget
//                                    │                 │ 429: the budget makes all requests of this token wait; if it is the limit
//                                    │                 │      of one endpoint, only this request waits
//                                    └─────────────────┤ 5xx, network, timeout, truncated JSON: after a back-off with jitter
//                                                      └─ anything else, or too often: PlatformError
//
// The token is only sent to the platform's own origin. If the platform redirects a stream to an object storage, the response is fetched there without
// credentials, and never over a less secure connection.
//
// A change is retried after a 429 or a 401, because these prove that it was not made. It is not retried if its outcome is unknown; the caller must
// then check.
import PQueue from 'p-queue'
import { backoff, type BackoffOptions } from '../../lib/backoff.ts'
import { budgetFactsOf, isOfEndpoint, servedAt, type ClockOffset } from './answer.ts'
import { errorOfForeignHost, errorOfMovedChange, errorOfNoApi, errorOfStorage } from './errors.ts'
import { headOf, type Head, type Method, type Streamed } from './http.ts'
import { maxPause } from './budget.ts'
import { PlatformError, type CallOptions, type Priority } from '../port.ts'
import type { Budget } from '../port/budget.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Dispatcher } from 'undici'
import type { Log } from '../../lib/log.ts'

export interface RetryRules extends BackoffOptions {
  /** Maximum number of attempts of one request that fail with a network error or a 5xx. */
  readonly tries: number
  /** Maximum number of attempts of one request that fail with a 429. */
  readonly refusals: number
}

export interface RequesterOptions {
  readonly dispatcher: Dispatcher
  /** Called for every request, because the token file may change. If it returns undefined, the request is sent without a token. */
  readonly token: () => string | undefined
  readonly tokenType: keyof typeof credentials
  readonly userAgent: string
  readonly budget: Budget
  /** Maximum number of concurrent requests with the same priority. */
  readonly concurrency: number
  /**
   * `answerMs`: timeout from the first byte sent to the last byte received, ms; for a stream, the timeout for each pause. `streamMs`: timeout for a
   * whole stream, ms.
   */
  readonly answerMs: number
  readonly streamMs: number
  readonly retry: RetryRules
  /** The path of the API's base URL. Error messages omit it. */
  readonly basePath: string
  /** Called on every 401 response: the token is missing, expired or revoked. */
  readonly onUnauthorized?: (() => void) | undefined
  /** Called on every response that is not an error. */
  readonly onAnswer?: (() => void) | undefined
  /** Observes the `Date` header of every response that is not an error. */
  readonly clockOffset?: ClockOffset | undefined
  readonly clock: Clock
  readonly log: Log
}

/** A request that changes something on the platform. */
export interface Change {
  readonly method: Exclude<Method, 'GET'>
  /** The body, which is sent as JSON. */
  readonly body: Readonly<Record<string, unknown>>
  /** Secrets in the body, which must not appear in errors. */
  readonly secrets: readonly string[]
}

export interface Answer extends Streamed {
  /** The URL that responded, after any redirects. */
  readonly url: URL
  /** Strings that must not appear in errors. */
  readonly secrets: readonly string[]
}

/** Sends requests to the platform. Every call rejects with a PlatformError or, if its signal is aborted, with the signal's reason. */
export interface Requester {
  /**
   * Sends a request and passes the response to `read`. On a transient error, the request is retried. After an error of kind `network`, `timeout` or
   * `unavailable`, it is unknown whether a change was made.
   */
  ask<T>(url: URL, options: CallOptions, read: (answer: Answer) => Promise<T>, change?: Change): Promise<T>
  /** Like `ask`, for a response body that may be long. If the body ends prematurely, `read` rejects, and the request is not retried. */
  stream<T>(url: URL, options: CallOptions, read: (answer: Streamed) => Promise<T>): Promise<T>
  /** Aborts all requests in flight. */
  close(): Promise<void>
}

interface Sent {
  readonly call: CallOptions
  readonly change?: Change | undefined
  /** True for a streamed response: it may come from another host, and its body may take longer than that of other responses. */
  readonly isStream: boolean
}

/**
 * The result of one attempt to send a request. `pause`: the time in ms that only this request must wait; undefined if the budget makes all requests
 * wait.
 */
type Attempt<T> = { readonly answer: T } | { readonly error: PlatformError; readonly pause?: number | undefined }

/**
 * Maximum number of times that a request is sent within one attempt. It covers moved URLs, one renewed token, and one redirect to an object storage.
 */
const maxHops = 6

export function createRequester(options: RequesterOptions): Requester {
  const { dispatcher, budget, clock, log, retry, basePath } = options
  const closing = new AbortController()
  // One queue per priority, so that a backfill that waits for the budget does not block enrichment.
  const queue = () => new PQueue({ concurrency: options.concurrency })
  const queues: Record<Priority, PQueue> = {
    ...{ enrich: queue(), page: queue(), poll: queue(), backfill: queue(), inside: queue() },
  }
  let pausedUntil = -Infinity

  /** Updates the budget and the clock offset from a platform response. Returns the time in ms that this request alone must wait. */
  async function learn(head: Head, sentAt: number, refusals: number): Promise<number | undefined> {
    const { status, headers } = head
    if (status === undefined) return undefined
    const now = clock.now()
    if (status === 401) options.onUnauthorized?.()
    if (status < 300) {
      options.onAnswer?.()
      options.clockOffset?.observe(servedAt(headers), sentAt, now)
    }
    const facts = budgetFactsOf(status, headers, now, backoff(refusals + 1, retry))
    if (isOfEndpoint(status, headers, head.as === 'error' ? head.error.keys : [])) return facts.pause
    // Most responses have no rate limit headers, so the budget need not be written.
    if (Object.keys(facts).length > 0) await budget.observed(facts)
    if (facts.pause !== undefined && now + facts.pause > pausedUntil) {
      // A pause is not logged if it closely follows another one.
      if (pausedUntil + maxPause <= now) {
        log.warn({ pauseMs: facts.pause }, 'the platform limits the rate of requests; all requests wait')
      }
      pausedUntil = now + facts.pause
    }
    return undefined
  }

  /** Makes one attempt to send a request, following redirects. */
  async function attempt<T>(
    asked: URL,
    { change, call, isStream }: Sent,
    read: (answer: Answer) => Promise<T>,
    signal: AbortSignal,
    refusals: number,
  ): Promise<Attempt<T>> {
    const method = change?.method ?? 'GET'
    const endpointOf = ({ pathname }: URL): string =>
      `${method} ${pathname.startsWith(basePath) ? pathname.slice(basePath.length) : pathname}`
    const endpoint = endpointOf(asked)
    let url = asked
    let isOwn = true
    for (let hop = 0; hop < maxHops; hop++) {
      if (isOwn) {
        await budget.take(call.priority, signal)
        call.onSend?.()
      }
      const token = isOwn ? trimToken(options.token()) : undefined
      const secrets = [...(token === undefined ? [] : [token]), ...(change?.secrets ?? [])]
      const sentAt = clock.now()
      const head = await headOf({
        ...{ dispatcher, method, url, endpoint, secrets, signal, answerMs: options.answerMs },
        headers: {
          ...{ 'user-agent': options.userAgent, accept: isStream ? '*/*' : 'application/json' },
          ...(change && { 'content-type': 'application/json' }),
          ...(token !== undefined && credentialHeaders(options.tokenType, token)),
        },
        body: change && JSON.stringify(change.body),
        wholeMs: isStream ? options.streamMs : options.answerMs,
      })
      if (!isStream) {
        const status = head.status ?? (head.as === 'error' ? head.error.kind : undefined)
        const facts = { endpoint: endpointOf(url), status, ms: clock.now() - sentAt, priority: call.priority }
        log.debug(facts, 'platform request')
      }
      const pause = isOwn ? await learn(head, sentAt, refusals) : undefined
      if (head.as === 'answer') return readAs(read, { ...head, endpoint, url, secrets })
      if (head.as === 'error') {
        // An error from an object storage is not a platform error.
        if (!isOwn && head.status !== undefined) return { error: errorOfStorage(head.status, endpoint) }
        if (head.status === 401 && trimToken(options.token()) !== token) continue
        return { error: head.error, pause }
      }
      const { status, to } = head
      const isMove = status === 301 || status === 308
      if (to === undefined || !(isMove || isStream)) {
        return { error: isOwn ? errorOfNoApi(status, endpoint, undefined) : errorOfStorage(status, endpoint) }
      }
      const isHere = to.origin === asked.origin
      if (!isHere && !(isStream && isAsSafe(to, asked))) return { error: errorOfForeignHost(endpoint, to.origin) }
      if (change !== undefined) return { error: errorOfMovedChange(status, endpoint, to) }
      if (isMove && isHere && to.search === '') to.search = url.search
      url = to
      // Once the request has been redirected to another host, a redirect back to the platform does not get the token either.
      isOwn &&= isHere
    }
    return { error: errorOfNoApi(301, endpoint, 'redirects without end') }
  }

  /** Retries a request until it succeeds or reaches a limit. `tries`: maximum number of attempts that fail with an error other than a 429. */
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
        // The budget makes all requests wait, unless the rate limit is that of a single endpoint. If the pause would be long, the request fails, and
        // the caller decides what to do.
        if (++refusals >= retry.refusals || (pause ?? 0) > retry.max) throw error
        if (pause !== undefined) await clock.sleep(pause, signal)
        continue
      }
      if (++failures >= tries) throw error
      await clock.sleep(backoff(failures, retry), signal)
    }
  }

  async function queued<T>(call: CallOptions, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = call.signal === undefined ? closing.signal : AbortSignal.any([call.signal, closing.signal])
    signal.throwIfAborted()
    return queues[call.priority].add(() => send(signal), { signal })
  }

  return {
    ask: (url, call, read, change) => {
      const sent = { call, change, isStream: false }
      const tries = change === undefined ? retry.tries : 1
      return queued(call, signal => withRetries(refusals => attempt(url, sent, read, signal, refusals), signal, tries))
    },
    stream: (url, call, read) => {
      const begun = async (answer: Answer) => answer
      return queued(call, async signal =>
        read(await withRetries(refusals => attempt(url, { call, isStream: true }, begun, signal, refusals), signal)),
      )
    },
    close: async () => {
      closing.abort(new Error('the platform client was closed'))
      await dispatcher.destroy()
    },
  }
}

async function readAs<T>(read: (answer: Answer) => Promise<T>, answer: Answer): Promise<Attempt<T>> {
  try {
    return { answer: await read(answer) }
  } catch (error) {
    if (error instanceof PlatformError) return { error }
    throw error
  }
}

function isAsSafe(to: URL, from: URL): boolean {
  return to.username === '' && (to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:'))
}

/**
 * `private`: a personal, project or group access token. `bearer`: an OAuth token. `job`: a CI/CD job token (REST documentation, "Authentication").
 */
const credentials = {
  private: (token: string) => ({ 'private-token': token }),
  bearer: (token: string) => ({ authorization: `Bearer ${token}` }),
  job: (token: string) => ({ 'job-token': token }),
}

/** Returns the header for a token. Throws a PlatformError if the token is not a valid header value (RFC 9110, 5.5). */
function credentialHeaders(type: keyof typeof credentials, token: string): Record<string, string> {
  if (/^[\x21-\x7e]+$/.test(token)) return credentials[type](token)
  throw new PlatformError({
    kind: 'unauthorized',
    what: 'The platform token contains spaces, line breaks or characters that are invalid in an HTTP header.',
    remedy: 'Check PIPESPAN_PLATFORM_TOKEN or its file: it must contain only the token.',
  })
}

/** Trims white space and line breaks around the token. Returns undefined if nothing is left. */
function trimToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim()
  return trimmed === '' ? undefined : trimmed
}
