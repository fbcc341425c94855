// One HTTP request with a time limit and a bounded answer. The outcome is a union; nothing is thrown.
import { Agent, request, type Dispatcher } from 'undici'
import { httpDate, retryAfter } from '../lib/retry-after.ts'
import { strangerBy } from '../lib/stranger.ts'
import { briefly, redact } from '../lib/redaction.ts'

/** Maximum size of an answer, bytes. */
const longest = 4 * 1024 * 1024

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** For the whole request, ms. */
  readonly timeoutMs: number
  readonly dispatcher?: Dispatcher | undefined
}

export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly contentType: string
      readonly text: string
      /** How long the other side asks to wait, ms. */
      readonly retryAfter?: number | undefined
    }
  /** No complete answer. `sent`: the other side may have received the request and acted on it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly sent: boolean; readonly certificate: boolean }

/** Sends one request. Redirects are not followed, because credentials must not be sent elsewhere. */
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
    if (text === undefined) return failed(`the answer is larger than ${longest} bytes`, true)
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
    if (size > longest) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Failures before the request was sent. */
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
  if (error.name === 'TimeoutError') return failed(`no answer within ${timeoutMs / 1000} s`, true)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const certificate = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(code)
  // Without the remedy that Node appends, which does not fit here.
  const message = error.message === '' ? code : error.message.replace(/; if the root CA is installed locally.*$/, '')
  const stranger = strangerBy(error)
  return failed(
    stranger === undefined ? message : `${stranger}: ${message}`,
    !certificate && !unsent.has(code),
    certificate,
  )
}

function failed(reason: string, sent: boolean, certificate = false): Answer {
  return { kind: 'failed', reason: redact(reason), sent, certificate }
}

/** A dispatcher that only trusts `ca` (PEM). Undefined without one: then undici's default is used. */
export function dispatcherFor(ca: string | undefined): Agent | undefined {
  return ca === undefined ? undefined : new Agent({ connect: { ca } })
}

/** Whether a credential is valid in a header (RFC 9110, 5.5, without blanks). */
export function isSendable(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value)
}

/** The message in an error's JSON body (`message` or `error`), shortened, on one line, without these secrets. */
export function wordsOf(text: string, secrets: readonly string[]): string | undefined {
  const json = parsed(text)
  if (typeof json !== 'object' || json === null) return undefined
  const { message, error } = json as { message?: unknown; error?: unknown }
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : undefined
  if (words === undefined) return undefined
  return briefly(words, 200, secrets)
}

/** Undefined if it is not JSON. The parser's error is dropped, as it quotes the text, which may contain a token. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
