// Begins requests with streamed answers, by the rules of all requests: budget, credentials, moves. `request.ts` repeats them like any other request.
//
//   send ─► head of the answer
//    ▲         │ redirect: to the platform with credentials and budget; to another host without both
//    └─────────┘
import { credentialHeaders, trimToken } from './credentials.ts'
import { errorOfNoApi, errorOfStorage } from './error-messages.ts'
import { PlatformError, type CallOptions } from '../port.ts'
import { redirectTo, streamHead, type Streamed } from './stream.ts'
import type { Attempt, RequesterOptions } from './call.ts'
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

/** Makes one attempt, which follows redirects. `refusals`: number of earlier attempts that failed with a 429. */
export type StreamBegin = (
  asked: URL,
  call: StreamOptions,
  signal: AbortSignal,
  refusals: number,
) => Promise<Attempt<Streamed>>

/** Maximum number of sends in one attempt: for moves, one move back, one renewed token, one redirect to a storage. */
const maxHops = 6

export function createStreamBegin(options: RequesterOptions, { moves, endpointOf, answered }: Shared): StreamBegin {
  const { dispatcher, budget } = options
  return async (asked, call, signal, refusals) => {
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
        return { answer: found.answer }
      }
      if (found.as === 'error') {
        const { status } = found.error
        // An error of a storage is no error of the platform.
        if (!isOwn) return { error: status === undefined ? found.error : errorOfStorage(status, endpoint) }
        const pause = status && (await answered(status, found.headers, refusals, found.error.keys))
        if (status === 404 && moves.forget(asked.pathname)) url = asked
        else if (status !== 401 || trimToken(options.token()) === token) return { error: found.error, pause }
        continue
      }
      const target = redirectTo(found.to, asked, endpoint)
      if (target instanceof PlatformError) return { error: target }
      if (found.isMove && target.isOwn) moves.remember(asked.pathname, found.to.pathname)
      url = found.to
      // After another host, a redirect back to the platform gets no token either.
      isOwn = isOwn && target.isOwn
    }
    return { error: errorOfNoApi(301, endpoint, 'redirects without end') }
  }
}
