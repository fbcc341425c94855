// Streamed answers: job logs, artifacts. The token is only sent to the platform's own origin. If the answer is in an object storage, it is fetched
// there without credentials, and never over a less secure connection.
import { request, type Dispatcher } from 'undici'
import { failureOf, flatHeaders } from './exchange.ts'
import { errorOfConnection, errorOfForeignHost, errorOfNoApi, errorOfStatus } from './error-messages.ts'
import { saidBy } from './error-body.ts'
import { PlatformError } from './platform-error.ts'
import { redact } from '../../lib/redaction.ts'

export interface Streamed {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Windows of 64 KiB at most. Leaving the loop early closes the connection. Throws a PlatformError if the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>
  readonly endpoint: string
}

/** A single HTTP request, to the platform or to a storage. */
export interface StreamRequest {
  readonly dispatcher: Dispatcher
  readonly url: URL
  /** With credentials only if `url` is the platform's. */
  readonly headers: Readonly<Record<string, string>>
  readonly endpoint: string
  /** Time-out for the headers, and for each pause in the body, ms. */
  readonly answerMs: number
  /** Must not appear in errors. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

export type StreamHead =
  | { readonly as: 'answer'; readonly answer: Streamed }
  /** The answer is at `to`. */
  | { readonly as: 'redirect'; readonly to: URL; readonly isMove: boolean }
  | { readonly as: 'error'; readonly error: PlatformError; readonly headers: Readonly<Record<string, string>> }

/** The largest window, bytes. */
const windowBytes = 64 * 1024
/** How much of an error's body is read, bytes. */
const mostSaid = 16 * 1024

/** Sends the request and reads the head of the answer. Rejects only with the reason of an aborted `signal`. */
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
    const said = await beginningOf(body)
    if (status < 400) {
      const { location } = flat
      const isReadable = location !== undefined && URL.canParse(location, url.href)
      if (!isReadable) return { as: 'error', error: errorOfNoApi(status, endpoint, undefined), headers: flat }
      return { as: 'redirect', to: new URL(location, url), isMove: status === 301 || status === 308 }
    }
    const error = errorOfStatus(status, endpoint, saidBy(said, flat['content-type'], secrets))
    return { as: 'error', error, headers: flat }
  } catch (error) {
    signal.throwIfAborted()
    return { as: 'error', error: connectionError(error, sent), headers: {} }
  }
}

/** Whether a redirect leads to the platform itself (`isOwn`) or to another host, which must not get the token. An error if it must not be followed. */
export function redirectTo(to: URL, from: URL, endpoint: string): { readonly isOwn: boolean } | PlatformError {
  if (to.origin === from.origin) return { isOwn: true }
  const isAsSafe = to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
  return isAsSafe && to.username === '' ? { isOwn: false } : errorOfForeignHost(endpoint, 'redirect', to.origin)
}

async function* windowsOf(body: AsyncIterable<Buffer>, sent: StreamRequest): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      for (let from = 0; from < chunk.length; from += windowBytes) yield chunk.subarray(from, from + windowBytes)
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
    if (bytes >= mostSaid) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, mostSaid)
}

function connectionError(error: unknown, { endpoint, answerMs, secrets }: StreamRequest): PlatformError {
  if (error instanceof PlatformError) return error
  const failure = failureOf(error, false, { answerMs })
  return errorOfConnection(failure.outcome, endpoint, redact(failure.reason, secrets), failure.certificate)
}
