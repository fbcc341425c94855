// Sends one HTTP request. Answers the whole response, or the reason why there is none.
import { request, type Dispatcher } from 'undici'
import { maxErrorBytes } from './error-body.ts'
import { codeOf, strangerBy } from '../../lib/stranger.ts'
import { reasonOf } from '../../lib/fault.ts'

export interface Answer {
  readonly outcome: 'answer'
  readonly status: number
  /** Names are in lower case; the values of a repeated header are joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  /** The body; of an error only the beginning. */
  readonly body: Buffer
}

export type Exchange =
  | Answer
  | { readonly outcome: 'network' | 'timeout'; readonly reason: string; readonly certificate: boolean }
  /** `detail`: the limit that was exceeded. */
  | { readonly outcome: 'too-large'; readonly detail: string }

export interface Outgoing {
  readonly method: Method
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export type Method = 'GET' | 'POST' | 'PUT'

export interface ExchangeLimits {
  /** Timeout from the first byte sent to the last one received, ms. */
  readonly answerMs: number
  /** Maximum size of a body, bytes. */
  readonly maxBytes: number
}

/** Sends a request and follows no redirect. Rejects only if `signal` is aborted, with its reason. */
export async function exchange(
  dispatcher: Dispatcher,
  { method, url, headers, body }: Outgoing,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Exchange> {
  const timeout = AbortSignal.timeout(limits.answerMs)
  try {
    const answer = await request(url, {
      dispatcher,
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([signal, timeout]),
    })
    const { statusCode: status } = answer
    const whole = await bounded(answer.body as AsyncIterable<Buffer>, limits.maxBytes, status >= 300)
    if ('detail' in whole) return { outcome: 'too-large', ...whole }
    return { outcome: 'answer', status, headers: flatHeaders(answer.headers), body: whole }
  } catch (error) {
    signal.throwIfAborted()
    return failureOf(error, timeout.aborted, limits)
  }
}

/** Reads a whole body, or only the beginning of an error's. If the body exceeds a limit, `detail` of the answer names that limit. */
export async function bounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  isError = false,
): Promise<Buffer | { readonly detail: string }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let values = 0
  for await (const chunk of body) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) return { detail: `more than ${maxBytes} bytes` }
    values += valuesIn(chunk)
    if (values > maxValues) return { detail: `more than ${maxValues} values` }
    chunks.push(chunk)
    if (isError && bytes >= maxErrorBytes) break
  }
  return Buffer.concat(chunks)
}

/**
 * Maximum number of JSON values, because each may take a hundred bytes when it is parsed, however short it is. A page of a hundred items has
 * about ten thousand.
 */
const maxValues = 500_000
const [comma, openList, openObject] = [0x2c, 0x5b, 0x7b]

/** An upper bound for the number of JSON values. It is not exact, because characters within strings count, too. */
function valuesIn(chunk: Uint8Array): number {
  let values = 0
  for (const byte of chunk) if (byte === comma || byte === openList || byte === openObject) values += 1
  return values
}

/** The reason why there is no answer, from the thrown error. `isLate`: the timeout had passed. */
export function failureOf(
  error: unknown,
  isLate: boolean,
  limits: Pick<ExchangeLimits, 'answerMs'>,
): Extract<Exchange, { readonly outcome: 'network' | 'timeout' }> {
  const code = codeOf(error)
  if (isLate) return { outcome: 'timeout', reason: `no answer within ${limits.answerMs} ms`, certificate: false }
  const stranger = strangerBy(error)
  const reason = stranger === undefined ? code : `${stranger}: ${code}`
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return { outcome: 'timeout', reason, certificate: false }
  // These codes of OpenSSL mean an unknown issuer, a wrong name or an expired certificate.
  const certificate = /CERT|ISSUER|SIGNATURE|TLS/.test(code)
  return { outcome: 'network', reason: code === '' ? reasonOf(error) : reason, certificate }
}

export function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}
