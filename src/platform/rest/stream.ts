// An answer that is read as it comes: a job's log, an artifact. The token goes to the platform's own origin alone: where an answer is
// elsewhere, in an object storage, it is fetched there without any credentials, and never over a connection less safe than the platform's.
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
  /** Windows of 64 KiB at most. Leaving the loop early ends the connection. Throws a PlatformError when that breaks. */
  readonly body: AsyncIterable<Uint8Array>
  readonly endpoint: string
}

/** One sending of a request, to the platform or to where its answer is. */
export interface StreamRequest {
  readonly dispatcher: Dispatcher
  readonly url: URL
  /** With credentials only where `url` is the platform's. */
  readonly headers: Readonly<Record<string, string>>
  readonly endpoint: string
  /** For the head of the answer, and for each silence in its body, ms. */
  readonly answerMs: number
  /** No error may repeat them. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

export type StreamHead =
  | { readonly as: 'answer'; readonly answer: Streamed }
  /** Not read: the answer is at `to`. */
  | { readonly as: 'redirect'; readonly to: URL; readonly isMove: boolean }
  | { readonly as: 'error'; readonly error: PlatformError; readonly headers: Readonly<Record<string, string>> }

/** The largest window that is handed over at once, bytes. */
const windowBytes = 64 * 1024
/** Of an error's body no more is read, bytes. */
const mostSaid = 16 * 1024

/** Sends it and reads the head of its answer. Rejects only with the reason of an aborted `signal`. */
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

/** Where an answer may be fetched from: the platform itself, or another host without the token; undefined: nowhere. */
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
