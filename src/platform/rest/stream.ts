// Reads streamed answers: job logs and artifacts. The token is only sent to the platform's own origin. If the platform redirects to an object
// storage, the answer is fetched there without credentials, and never over a less secure connection.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { request, type Dispatcher } from 'undici'
import { failureOf, flatHeaders } from './exchange.ts'
import { errorOfConnection, errorOfForeignHost, errorOfNoApi, errorOfSlow, errorOfStatus } from './error-messages.ts'
import { maxErrorBytes, parseErrorBody } from './error-body.ts'
import { PlatformError } from '../port.ts'
import { redact } from '../../lib/redaction.ts'

export interface Streamed {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Windows of at most 64 KiB, each in its own turn of the event loop. Leaving the loop early closes the connection. Throws a PlatformError if
   * the connection breaks.
   */
  readonly body: AsyncIterable<Uint8Array>
  readonly endpoint: string
}

/** A single HTTP request to the platform or to a storage. */
export interface StreamRequest {
  readonly dispatcher: Dispatcher
  readonly url: URL
  /** Includes credentials only if `url` is the platform's. */
  readonly headers: Readonly<Record<string, string>>
  readonly endpoint: string
  /** Timeout for the headers, and for each pause in the body, ms. */
  readonly answerMs: number
  readonly pace?: StreamPace | undefined
  /** Texts that must not appear in errors. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

/** Minimum speed of a body. Only the time that is spent waiting for the platform counts. */
export interface StreamPace {
  /** Maximum time for the whole body, ms. */
  readonly maxMs: number
  /** Minimum number of bytes in each period. A pause without any bytes is limited by `answerMs` only. */
  readonly minBytes: number
  readonly periodMs: number
}

/** At least 1 KiB/s. A log of the default maximum size (128 MiB) needs 219 KiB/s. */
export const streamPace: StreamPace = { maxMs: 600_000, minBytes: 30 * 1024, periodMs: 30_000 }

export type StreamHead =
  | { readonly as: 'answer'; readonly answer: Streamed }
  /** The answer is at `to`. */
  | { readonly as: 'redirect'; readonly to: URL; readonly isMove: boolean }
  | { readonly as: 'error'; readonly error: PlatformError; readonly headers: Readonly<Record<string, string>> }

/** Maximum size of a window, bytes. */
const windowBytes = 64 * 1024

/** Sends the request and reads the head of the answer. Rejects only if `signal` is aborted, with its reason. */
export async function streamHead(sent: StreamRequest): Promise<StreamHead> {
  const { dispatcher, url, headers, endpoint, answerMs, secrets, signal } = sent
  try {
    const answer = await request(url, {
      ...{ dispatcher, method: 'GET', headers: { ...headers }, signal },
      ...{ headersTimeout: answerMs, bodyTimeout: answerMs },
    })
    const flat = flatHeaders(answer.headers)
    const { statusCode: status } = answer
    const body = answer.body as AsyncIterable<Buffer>
    if (status >= 200 && status < 300) {
      return { as: 'answer', answer: { status, headers: flat, body: windowsOf(body, sent), endpoint } }
    }
    const text = await beginningOf(body)
    if (status < 400) {
      const { location } = flat
      const isReadable = location !== undefined && URL.canParse(location, url.href)
      if (!isReadable) return { as: 'error', error: errorOfNoApi(status, endpoint, undefined), headers: flat }
      return { as: 'redirect', to: new URL(location, url), isMove: status === 301 || status === 308 }
    }
    const error = errorOfStatus(status, endpoint, parseErrorBody(text, flat['content-type'], secrets))
    return { as: 'error', error, headers: flat }
  } catch (error) {
    signal.throwIfAborted()
    return { as: 'error', error: connectionError(error, sent), headers: {} }
  }
}

/**
 * Whether a redirect leads to the platform itself (`isOwn`) or to another host, which must not get the token. Answers an error if the redirect
 * must not be followed.
 */
export function redirectTo(to: URL, from: URL, endpoint: string): { readonly isOwn: boolean } | PlatformError {
  if (to.origin === from.origin) return { isOwn: true }
  const isAsSafe = to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
  return isAsSafe && to.username === '' ? { isOwn: false } : errorOfForeignHost(endpoint, 'redirect', to.origin)
}

async function* windowsOf(body: AsyncIterable<Buffer>, sent: StreamRequest): AsyncGenerator<Uint8Array> {
  const { maxMs, minBytes, periodMs } = sent.pace ?? streamPace
  let waited = 0
  let period = { until: periodMs, bytes: 0 }
  let began = performance.now()
  try {
    for await (const chunk of body) {
      waited += performance.now() - began
      period.bytes += chunk.length
      if (waited > maxMs) throw errorOfSlow(sent.endpoint, `incomplete after ${maxMs / 1_000} s`)
      if (waited > period.until) {
        const { bytes } = period
        if (bytes < minBytes) throw errorOfSlow(sent.endpoint, `${bytes} bytes in ${periodMs / 1_000} s`)
        period = { until: waited + periodMs, bytes: 0 }
      }
      for (let from = 0; from < chunk.length; from += windowBytes) {
        if (from > 0) await nextTurn()
        yield chunk.subarray(from, from + windowBytes)
      }
      began = performance.now()
    }
  } catch (error) {
    sent.signal.throwIfAborted()
    throw connectionError(error, sent)
  }
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxErrorBytes) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxErrorBytes)
}

function connectionError(error: unknown, { endpoint, answerMs, secrets }: StreamRequest): PlatformError {
  if (error instanceof PlatformError) return error
  const failure = failureOf(error, false, { answerMs })
  return errorOfConnection(failure.outcome, endpoint, redact(failure.reason, secrets), failure.certificate)
}
