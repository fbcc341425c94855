// Sends requests with streamed answers, by the rules of all requests (`request.ts`): budget, credentials, moves, retries, pauses.
//
//   send ─► head of the answer ─► read while it arrives
//    ▲         │ redirect: to the platform with credentials and budget; to another host without both
//    └─────────┤ 429, 5xx, network, timeout: again, like any other request
//              └─ anything else, or too often: PlatformError
import { backoff } from '../../lib/backoff.ts'
import { credentialHeaders, trimToken } from './credentials.ts'
import { errorOfNoApi, errorOfStorage } from './error-messages.ts'
import { PlatformError, type CallOptions } from '../port.ts'
import { redirectTo, streamHead, type Streamed, type StreamHead } from './stream.ts'
import type { RequesterOptions } from './call.ts'
import { withPath, type Moves } from './moved.ts'

export interface StreamOptions extends CallOptions {
  /** Headers in addition to those of all requests. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What streamed requests share with all other requests. */
export interface Shared {
  readonly moves: Moves
  readonly endpointOf: (url: URL) => string
  /** Passes the rate limit in an answer's headers to the budget. Answers how long this request alone must wait, ms. */
  readonly answered: (
    status: number,
    headers: Streamed['headers'],
    refusals: number,
    keys?: readonly string[],
  ) => Promise<number | undefined>
}

export type Streamer = <T>(
  url: URL,
  call: StreamOptions,
  signal: AbortSignal,
  read: (answer: Streamed) => Promise<T>,
) => Promise<T>

/** Maximum number of sends in one attempt: for moves, one move back, one renewed token, one redirect to a storage. */
const maxHops = 6

export function createStreamer(options: RequesterOptions, { moves, endpointOf, answered }: Shared): Streamer {
  const { dispatcher, budget, clock, retry } = options

  /** Makes one attempt, which follows redirects. */
  async function head(
    asked: URL,
    call: StreamOptions,
    signal: AbortSignal,
    refusals: number,
  ): Promise<Exclude<StreamHead, { as: 'redirect' }> & { readonly pause?: number | undefined }> {
    const endpoint = endpointOf(asked)
    const sent = { dispatcher, endpoint, answerMs: options.limits.answerMs, pace: options.pace, signal }
    const agent = { accept: '*/*', 'user-agent': options.userAgent, ...call.headers }
    let url = withPath(asked, moves.current(asked.pathname))
    let isOwn = true
    for (let hop = 0; hop < maxHops; hop++) {
      const token = isOwn ? trimToken(options.token()) : undefined
      if (isOwn) {
        await budget.take(call.priority, signal)
        call.onSend?.()
      }
      const headers = isOwn ? { ...agent, ...credentialHeaders(options.tokenType, token) } : agent
      const found = await streamHead({ ...sent, url, headers, secrets: token === undefined ? [] : [token] })
      if (found.as === 'answer') {
        if (isOwn) await answered(found.answer.status, found.answer.headers, refusals)
        return found
      }
      if (found.as === 'error') {
        const { status } = found.error
        // An error of a storage is no error of the platform.
        if (!isOwn) return status === undefined ? found : { ...found, error: errorOfStorage(status, endpoint) }
        const pause = status && (await answered(status, found.headers, refusals, found.error.keys))
        if (status === 404 && moves.forget(asked.pathname)) url = asked
        else if (status !== 401 || trimToken(options.token()) === token) return { ...found, pause }
        continue
      }
      const target = redirectTo(found.to, asked, endpoint)
      if (target instanceof PlatformError) return { as: 'error', error: target, headers: {} }
      if (found.isMove && target.isOwn) moves.remember(asked.pathname, found.to.pathname)
      url = found.to
      // After another host, a redirect back to the platform gets no token either.
      isOwn = isOwn && target.isOwn
    }
    return { as: 'error', error: errorOfNoApi(301, endpoint, 'redirects without end'), headers: {} }
  }

  return async (url, call, signal, read) => {
    let failures = 0
    let refusals = 0
    for (;;) {
      const found = await head(url, call, signal, refusals)
      if (found.as === 'answer') return read(found.answer)
      const { error } = found
      if (!error.passing) throw error
      if (error.kind === 'limited') {
        if (++refusals >= retry.refusals || (found.pause ?? 0) > retry.max) throw error
        if (found.pause !== undefined) await clock.sleep(found.pause, signal)
        continue
      }
      if (++failures >= retry.tries) throw error
      await clock.sleep(backoff(failures, retry), signal)
    }
  }
}
