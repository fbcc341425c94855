// Sends one HTTP request with a timeout and a response size limit. It returns the outcome as a union and never throws.
import { request, type Dispatcher } from 'undici'
import { certificateRemedy } from '../../lib/certificate-remedy.ts'
import { httpDate, retryAfter } from '../../lib/retry-after.ts'
import { symptomOf } from '../../lib/wrong-service.ts'
import { briefly } from '../../lib/text-redaction.ts'
import { redact } from '../../lib/secret.ts'

/** The maximum size of an HTTP response, bytes. */
const maxSize = 4 * 1024 * 1024

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The timeout of the whole request, ms. */
  readonly timeoutMs: number
  readonly dispatcher?: Dispatcher | undefined
}

export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly contentType: string
      readonly text: string
      /** The pause that the server requests before a retry (Retry-After), ms. */
      readonly retryAfter?: number | undefined
    }
  /**
   * No complete response was received. `sent` is whether the server may have received the request and acted on it. `code` is the error code of the
   * connection, or empty.
   */
  | { readonly kind: 'failed'; readonly reason: string; readonly sent: boolean; readonly code: string }

/** Redirects are not followed, because credentials must not be sent to another server. */
export async function send(call: Call): Promise<Answer> {
  try {
    const response = await request(call.url, {
      method: call.method,
      headers: { ...call.headers },
      signal: AbortSignal.timeout(call.timeoutMs),
      ...(call.body === undefined ? {} : { body: call.body }),
      ...(call.dispatcher === undefined ? {} : { dispatcher: call.dispatcher }),
    })
    const text = await bounded(response.body)
    if (text === undefined) return failed(`the response is larger than ${maxSize} bytes`, true)
    const header = (name: string): string | undefined => [response.headers[name]].flat()[0]
    return {
      kind: 'answered',
      status: response.statusCode,
      contentType: header('content-type') ?? '',
      text,
      retryAfter: retryAfter(header('retry-after'), httpDate(header('date') ?? '') ?? Date.now()),
    }
  } catch (error) {
    return failure(error, call.timeoutMs)
  }
}

async function bounded(body: Dispatcher.ResponseData['body']): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxSize) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The error codes of failures that occur before the request is sent. */
const unsent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function failure(error: unknown, timeoutMs: number): Answer {
  if (!(error instanceof Error)) return failed(String(error), true)
  if (error.name === 'TimeoutError') return failed(`no response within ${timeoutMs / 1000} s`, true)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // The remedy that Node appends to the error message is removed, because it does not apply here.
  const message = error.message === '' ? code : error.message.replace(/; if the root CA is installed locally.*$/, '')
  const symptom = symptomOf(error)
  return failed(
    symptom === undefined ? message : `${symptom}: ${message}`,
    certificateRemedy(code, '') === undefined && !unsent.has(code),
    code,
  )
}

function failed(reason: string, sent: boolean, code = ''): Answer {
  return { kind: 'failed', reason: redact(reason), sent, code }
}

/** Whether a credential can be sent as an HTTP header value (RFC 9110, 5.5, without whitespace). */
export function isSendable(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value)
}

/** Returns the error message from a JSON response body (`message` or `error`), shortened to one line, with all `secrets` removed. */
export function wordsOf(text: string, secrets: readonly string[]): string | undefined {
  const json = parsed(text)
  if (typeof json !== 'object' || json === null) return undefined
  const { message, error } = json as { message?: unknown; error?: unknown }
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : undefined
  if (words === undefined) return undefined
  return briefly(words, 200, secrets)
}

/**
 * Parses JSON; returns undefined if the input is not JSON. The parser's error is discarded, because it quotes the input, which may contain a token.
 */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
