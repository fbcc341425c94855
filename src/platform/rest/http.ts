// Sends one HTTP request over a persistent connection, possibly through a proxy, and streams the body of the response.
import { getCACertificates } from 'node:tls'
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici'
import { codeOf, symptomOf } from '../../lib/wrong-service.ts'
import { httpDate } from '../../lib/retry-after.ts'
import { errorOfAnswer, errorOfStatus, maxErrorBytes } from './errors.ts'
import { PlatformError } from '../port.ts'
import { reasonOf } from '../../lib/fault.ts'
import { pausableTimeout, type PausableTimeout } from '../../lib/timer.ts'
import { redact } from '../../lib/secret.ts'

/** The API's base path, relative to the platform's base URL. */
export const apiPath = '/api/v4'

/** Options for all connections, direct or through a proxy. */
export interface ConnectRules {
  /** Trusted certificate authorities (PEM). If undefined, Node.js uses its own list. */
  readonly ca?: string[] | undefined
  /** Timeout for opening a connection, including its TLS handshake, ms. */
  readonly timeout: number
}

/** Creates a dispatcher, which the caller must close. */
export type DispatcherFactory = (rules: ConnectRules) => Dispatcher

/** `ca`: one or more certificate authorities (PEM) that are trusted in addition to the default ones. */
export function connectRules(ca: string | undefined, timeout: number): ConnectRules {
  return { ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }), timeout }
}

/** HTTP/2 is disabled, because it brings no benefit with few concurrent requests. */
const kept = { keepAliveTimeout: 30_000, allowH2: false }

export const directDispatcher: DispatcherFactory = ({ ca, timeout }) =>
  new Agent({ connect: { ...(ca && { ca }), timeout }, ...kept })

/** Proxy URLs by request scheme. `no`: comma-separated hosts that are contacted without a proxy. */
export interface PlatformProxies {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly no?: string | undefined
}

/**
 * Creates connections through the proxy that is configured for `url`, or direct ones if there is none. The proxies come from Pipespan's options, so
 * undici does not read the environment.
 */
export function proxiedDispatcher(url: string, proxies: PlatformProxies): DispatcherFactory {
  const proxy = url.startsWith('https:') ? proxies.https : proxies.http
  if (proxy === undefined || proxy === '') return directDispatcher
  return ({ ca, timeout }) => {
    const tls = { ...(ca && { ca }), timeout }
    return new EnvHttpProxyAgent({
      ...{ connect: tls, requestTls: tls, proxyTls: tls, ...kept },
      ...{ httpProxy: proxy, httpsProxy: proxy, noProxy: proxies.no ?? '' },
    })
  }
}

/**
 * Measures in ms how far the platform's clock is ahead of ours. It compares the `Date` of a response, which has whole seconds, with the midpoint of
 * the round trip. No token is needed. Returns undefined if the response has no `Date`; rejects if there is no response.
 */
export async function clockOffsetOf(
  instance: string,
  dispatcher: Dispatcher,
  timeout: number,
): Promise<number | undefined> {
  const sent = Date.now()
  const timeouts = { headersTimeout: timeout, bodyTimeout: timeout }
  const { headers, body } = await request(`${instance}${apiPath}/version`, { dispatcher, ...timeouts })
  const received = Date.now()
  await body.dump()
  const at = httpDate(typeof headers.date === 'string' ? headers.date : undefined)
  return at === undefined ? undefined : at - (sent + received) / 2
}

export interface Streamed {
  readonly status: number
  /** Header names are in lower case; the values of a repeated header are joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  /** Exiting the loop over the body early closes the connection. The body throws a PlatformError if the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>
  readonly endpoint: string
}

export type Method = 'GET' | 'POST' | 'PUT'

/** A single HTTP request to the platform or to an object storage. */
export interface HttpRequest {
  readonly dispatcher: Dispatcher
  readonly method: Method
  readonly url: URL
  /** The headers include credentials only if `url` belongs to the platform. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly endpoint: string
  /** Timeout for the response headers, and for each pause in the response body, ms. */
  readonly answerMs: number
  /** Timeout from the first byte sent to the last byte received, ms. Time that the caller spends processing the body is not counted. */
  readonly wholeMs: number
  /** Strings that must not appear in errors. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

/**
 * The status and headers of a response, or an error. `status`: undefined if there was no response. `to`: the target of a redirect; undefined if it
 * cannot be parsed.
 */
export type Head = { readonly headers: Streamed['headers'] } & (
  | { readonly as: 'answer'; readonly status: number; readonly body: Streamed['body'] }
  | { readonly as: 'redirect'; readonly status: number; readonly to: URL | undefined }
  | { readonly as: 'error'; readonly status: number | undefined; readonly error: PlatformError }
)

/**
 * Sends the request and reads the status and headers of the response. Does not follow redirects. Rejects only if `signal` is aborted, with the
 * signal's reason.
 */
export async function headOf(sent: HttpRequest): Promise<Head> {
  const { dispatcher, method, url, body, endpoint, answerMs, wholeMs, secrets, signal } = sent
  const timeout = pausableTimeout(wholeMs)
  try {
    const answer = await request(url, {
      ...{ dispatcher, method, headers: { ...sent.headers }, body: body ?? null },
      ...(wholeMs > answerMs && { headersTimeout: answerMs, bodyTimeout: answerMs }),
      signal: AbortSignal.any([signal, timeout.signal]),
    })
    const { statusCode: status } = answer
    const headers = Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    )
    const whole = answer.body as AsyncIterable<Buffer>
    if (status >= 200 && status < 300) return { as: 'answer', status, headers, body: passedOn(whole, sent, timeout) }
    const text = await beginningOf(whole)
    if (status < 400) {
      const to = headers.location ? (URL.parse(headers.location, url.href) ?? undefined) : undefined
      return { as: 'redirect', status, headers, to }
    }
    const error = errorOfStatus(status, endpoint, { text, type: headers['content-type'], secrets })
    return { as: 'error', status, headers, error }
  } catch (error) {
    signal.throwIfAborted()
    return { as: 'error', status: undefined, headers: {}, error: connectionError(error, sent, timeout.signal) }
  }
}

async function* passedOn(
  body: AsyncIterable<Buffer>,
  sent: HttpRequest,
  timeout: PausableTimeout,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      timeout.pause()
      yield chunk
      timeout.resume()
    }
  } catch (error) {
    sent.signal.throwIfAborted()
    throw connectionError(error, sent, timeout.signal)
  } finally {
    timeout.pause()
  }
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    // Exiting the loop closes the connection.
    if (bytes >= maxErrorBytes) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxErrorBytes)
}

/** Returns an error that explains why there is no response or only part of one. */
function connectionError(
  error: unknown,
  { endpoint, answerMs, wholeMs, secrets }: HttpRequest,
  timeout: AbortSignal,
): PlatformError {
  if (error instanceof PlatformError) return error
  if (timeout.aborted && wholeMs > answerMs)
    return errorOfAnswer('slow', endpoint, `incomplete after ${wholeMs / 1_000} s`)
  if (timeout.aborted) return errorOfAnswer('timeout', endpoint, `no response within ${answerMs} ms`)
  const code = codeOf(error)
  const symptom = symptomOf(error)
  const reason = redact(symptom === undefined ? code : `${symptom}: ${code}`, secrets)
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return errorOfAnswer('timeout', endpoint, reason)
  return errorOfAnswer('network', endpoint, code === '' ? redact(reasonOf(error), secrets) : reason, code)
}
