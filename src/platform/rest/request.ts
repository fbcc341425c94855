// Applies the rules of all requests: budget, credentials, moves, retries, pauses.
//
//   call ─► queue of its priority ─► budget ─► send ─► head of the answer ─► JSON, or the stream of its body
//                                    ▲                 │ moved, moved back, token renewed: at once
//                                    │                 │ stream at another host: at once, without credentials and budget
//                                    │                 │ 429: the budget makes all requests of this token wait; if it is the limit
//                                    │                 │      of one endpoint, only this request waits
//                                    └─────────────────┤ 5xx, network, timeout, JSON cut off: after a pause with jitter
//                                                      └─ anything else, or too often: PlatformError
//
// The token is only sent to the platform's own origin. If the platform redirects a stream to an object storage, the answer is fetched there without
// credentials, and never over a less secure connection.
//
// A change is repeated after a 429 or a 401, because these show that it was not made. It is not repeated if its outcome is unknown; the caller must
// then check.
import PQueue from 'p-queue'
import { backoff } from '../../lib/backoff.ts'
import { budgetFactsOf, isOfEndpoint, servedAt } from './rate-limit.ts'
import { createMoves, withPath } from './moved.ts'
import { errorOfForeignHost, errorOfMovedChange, errorOfNoApi, errorOfStorage } from './error-messages.ts'
import { headOf, streamPace, type Method, type Streamed } from './stream.ts'
import { maxPause } from './budget.ts'
import { PlatformError, type CallOptions, type Priority } from '../port.ts'
import { readJson } from './answer-json.ts'
import { credentialHeaders, trimToken, type RequesterOptions, type StreamOptions } from './call.ts'

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

interface Sent {
  readonly call: CallOptions
  readonly change?: Change | undefined
  readonly headers: Readonly<Record<string, string>>
  /** True if another host may answer, and the body may take longer than other answers. */
  readonly isStream: boolean
}

type Answered = Streamed & Pick<RestAnswer, 'url'> & { readonly secrets: readonly string[] }

/** `pause`: time that only this request waits, ms. Undefined if the budget makes all requests wait. */
export type Attempt<T> = { readonly answer: T } | { readonly error: PlatformError; readonly pause?: number | undefined }

/** Maximum number of sends in one attempt: for moves, one move back, one renewed token, one redirect to a storage. */
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

  /** Passes the rate limit in an answer's headers to the budget. Answers how long this request alone must wait, ms. */
  async function answered(
    status: number,
    headers: Streamed['headers'],
    refusals: number,
    keys: readonly string[],
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

  /** Makes one attempt, which follows redirects. The answer's body is not read yet. */
  async function attempt(asked: URL, sent: Sent, signal: AbortSignal, refusals: number): Promise<Attempt<Answered>> {
    const { change, call, isStream } = sent
    const method = change?.method ?? 'GET'
    const endpoint = endpointOf(method, asked)
    let url = withPath(asked, moves.current(asked.pathname))
    /** The path to which the project or group has moved. */
    let home = url.pathname
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
        ...{ dispatcher, method, url, endpoint, secrets, signal, answerMs: options.limits.answerMs },
        headers: {
          'user-agent': options.userAgent,
          ...sent.headers,
          ...(isOwn && credentialHeaders(options.tokenType, token)),
        },
        body: change && JSON.stringify(change.body),
        pace: isStream ? (options.pace ?? streamPace) : undefined,
      })
      const { status, headers } = head
      const now = clock.now()
      if (!isStream) {
        const outcome = head.as === 'error' ? (status ?? head.error.kind) : status
        log.debug(
          { endpoint: endpointOf(method, url), status: outcome, ms: now - sentAt, priority: call.priority },
          'platform request',
        )
      }
      let pause: number | undefined
      if (isOwn && status !== undefined) {
        if (status < 300) options.clockOffset?.observe(servedAt(headers), sentAt, now)
        pause = await answered(status, headers, refusals, head.as === 'error' ? head.error.keys : [])
      }
      switch (head.as) {
        case 'answer':
          if (home !== asked.pathname) moves.remember(asked.pathname, home)
          return { answer: { ...head, endpoint, url, secrets } }
        case 'error':
          // An error of a storage is no error of the platform.
          if (!isOwn) return { error: status === undefined ? head.error : errorOfStorage(status, endpoint) }
          if (status === 404 && moves.forget(asked.pathname)) {
            url = asked
            home = asked.pathname
          } else if (status !== 401 || trimToken(options.token()) === token) return { error: head.error, pause }
          break
        case 'redirect': {
          const { to } = head
          const isMove = head.status === 301 || head.status === 308
          if (to === undefined || !(isMove || isStream)) {
            return {
              error: isOwn ? errorOfNoApi(head.status, endpoint, undefined) : errorOfStorage(head.status, endpoint),
            }
          }
          const isHere = to.origin === asked.origin
          if (!isHere && !(isStream && isAsSafe(to, asked))) return { error: errorOfForeignHost(endpoint, to.origin) }
          if (change !== undefined) return { error: errorOfMovedChange(head.status, endpoint, to) }
          if (isMove && isHere) {
            home = to.pathname
            if (to.search === '') to.search = url.search
          }
          url = to
          // After another host, a redirect back to the platform gets no token either.
          isOwn &&= isHere
        }
      }
    }
    return { error: errorOfNoApi(301, endpoint, 'redirects without end') }
  }

  /** Makes one attempt and reads the answer's JSON. */
  async function attemptJson(
    asked: URL,
    sent: Pick<Sent, 'call' | 'change'>,
    signal: AbortSignal,
    refusals: number,
  ): Promise<Attempt<RestAnswer>> {
    const type = sent.change === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { accept: 'application/json', ...type }
    const begun = await attempt(asked, { ...sent, headers, isStream: false }, signal, refusals)
    if ('error' in begun) return begun
    const { headers: received, url, endpoint, secrets } = begun.answer
    try {
      const json = await readJson(begun.answer, options.limits.maxBytes, secrets)
      return { answer: { json, headers: received, url, endpoint } }
    } catch (error) {
      if (error instanceof PlatformError) return { error }
      throw error
    }
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

  return {
    get: (url, call) =>
      queued(call, signal => withRetries(refusals => attemptJson(url, { call }, signal, refusals), signal)),
    change: (url, change, call) =>
      queued(call, signal => withRetries(refusals => attemptJson(url, { call, change }, signal, refusals), signal, 1)),
    stream: (url, call, read) => {
      const sent = { call, headers: { accept: '*/*', ...call.headers }, isStream: true }
      return queued(call, async signal =>
        read(await withRetries(refusals => attempt(url, sent, signal, refusals), signal)),
      )
    },
    close: async () => {
      closing.abort(new Error('the platform client was closed'))
      await dispatcher.destroy()
    },
  }
}

function isAsSafe(to: URL, from: URL): boolean {
  return to.username === '' && (to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:'))
}
