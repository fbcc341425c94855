// Sends one OTLP/HTTP or notification POST request. This file handles connections, TLS, proxies, headers and the deadline. It does not judge the
// response.
import { readFileSync } from 'node:fs'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'
import { filled } from '../../lib/template.ts'
import { after } from '../../lib/timer.ts'
import { ConfigError, reasonOf } from '../../lib/fault.ts'
import { isGrpcPort, speaksHttp2, symptomOf } from '../../lib/wrong-service.ts'
import { version } from '../../lib/version.ts'
import type { Answer } from './verdict.ts'
import type { Endpoint, HeaderValues, Proxies, TlsFiles } from './destination.ts'
import type { Secret } from '../../lib/secret.ts'

/** The maximum size of a response in bytes. Longer responses are truncated; backends usually send a few hundred bytes. */
const maxAnswerBytes = 64 * 1024

export interface OtlpHttp {
  /**
   * Sends one body. Never rejects. The request ends at the endpoint's timeout at the latest, and at once when `stop` is aborted. Redirects are not
   * followed.
   */
  post(body: Uint8Array, token: Secret | undefined, stop: AbortSignal, values?: HeaderValues): Promise<Answer>
  /** Closes the connections immediately. */
  close(): Promise<void>
}

/**
 * Creates the transport for an endpoint. The `body` of `post` must already be compressed as configured for the endpoint. Throws ConfigError if a TLS
 * file cannot be read.
 */
export function createOtlpHttp(endpoint: Endpoint, proxies: Proxies | undefined, connections: number): OtlpHttp {
  const dispatcher = dispatcherFor(new URL(endpoint.url), endpoint, proxies, connections)
  return {
    post: (body, token, stop, values) => {
      const url = new URL(endpoint.url)
      const target = { origin: url.origin, path: url.pathname + url.search, method: 'POST' as const }
      const headers = headersFor(endpoint, body, token, values)
      return exchange(dispatcher, { ...target, headers, body }, endpoint.timeoutMs, stop)
    },
    close: () => dispatcher.destroy(),
  }
}

function headersFor(
  endpoint: Endpoint,
  body: Uint8Array,
  token: Secret | undefined,
  values: HeaderValues | undefined,
): Record<string, string> {
  const configured = Object.entries(endpoint.headers).map(([name, value]) => [
    name.toLowerCase(),
    values === undefined ? value.reveal() : filled(value.reveal(), values),
  ])
  return {
    'user-agent': `pipespan/${version}`,
    ...(Object.fromEntries(configured) as Record<string, string>),
    ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
    'content-type': endpoint.contentType ?? 'application/x-protobuf',
    'content-length': String(body.length),
    'accept-encoding': 'identity',
    ...(endpoint.compression === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
  }
}

/** Creates the connection pool for a URL with the endpoint's TLS files, through its proxy. Throws ConfigError if a TLS file cannot be read. */
export function dispatcherFor(
  url: URL,
  { timeoutMs, tls }: Pick<Endpoint, 'timeoutMs' | 'tls'>,
  proxies: Proxies | undefined,
  connections: number,
): Dispatcher {
  const files = tls === undefined ? {} : readTls(tls)
  // undici's timeouts are disabled, because a response that trickles in byte by byte would never reach them. `exchange` has its own deadline.
  const options = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 }
  const connect = { ...files, allowH2: false, timeout: timeoutMs }
  const proxy = url.protocol === 'https:' ? proxies?.https : proxies?.http
  if (proxy === undefined || proxy === '') return new Agent({ ...options, connect })
  return new EnvHttpProxyAgent({
    ...options,
    connect,
    requestTls: connect,
    proxyTls: { ...(files.ca === undefined ? {} : { ca: files.ca }), timeout: timeoutMs },
    // All three proxy options are set explicitly, so that undici does not read the environment variables.
    httpProxy: proxy,
    httpsProxy: proxy,
    noProxy: proxies?.no ?? '',
  })
}

function readTls(files: TlsFiles): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  return {
    ...(files.caFile === undefined ? {} : { ca: readPem(files.caFile, 'CA certificate') }),
    ...(files.certFile === undefined ? {} : { cert: readPem(files.certFile, 'client certificate') }),
    ...(files.keyFile === undefined ? {} : { key: readPem(files.keyFile, 'client key') }),
  }
}

function readPem(path: string, what: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    const remedy = 'Use a PEM file that this process can read.'
    throw new ConfigError(`The OTLP ${what} ${path} cannot be read (${code}).`, remedy, { cause })
  }
}

/**
 * With undici's `request`, a request that waits for a connection would stay queued after the deadline. This function withdraws it before any byte is
 * sent.
 */
function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Answer> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    let head: Omit<Extract<Answer, { kind: 'answered' }>, 'kind' | 'body'> | undefined
    let begun: Dispatcher.DispatchController | undefined
    let over = false

    /** If an HTTP status has been received, it counts even if the body is incomplete. */
    function finish(reason: string, grpcBy?: 'frames' | 'port'): void {
      if (over) return
      over = true
      timer.stop()
      stop.removeEventListener('abort', onStop)
      resolve(
        head === undefined
          ? { kind: 'failed', reason, outcomeUnknown: begun !== undefined, grpcBy }
          : { kind: 'answered', ...head, body: Buffer.concat(chunks) },
      )
    }
    function cut(reason: string): void {
      finish(reason)
      begun?.abort(new Error(reason))
    }
    const onStop = (): void => cut('stopped before a response')
    const late = `no response within ${timeoutMs / 1000} s`
    const deadline = performance.now() + timeoutMs
    const timer = after(
      timeoutMs,
      () => cut(late),
      error => finish(reasonOf(error)),
    )
    if (stop.aborted) {
      onStop()
      return
    }
    stop.addEventListener('abort', onStop, { once: true })

    dispatcher.dispatch(request, {
      onRequestStart: controller => {
        // The deadline is checked here as well, because its timer may fire late if the process gets no CPU time.
        if (performance.now() >= deadline) finish(late)
        if (over) controller.abort(new Error('withdrawn'))
        else begun = controller
      },
      onResponseStart: (_controller, status, headers) => {
        if (status < 200) return
        head = {
          status,
          contentType: first(headers['content-type']),
          retryAfter: first(headers['retry-after']),
          date: first(headers.date),
        }
      },
      onResponseData: (_controller, chunk) => {
        size += chunk.length
        if (size > maxAnswerBytes) cut('the response is too long')
        else chunks.push(chunk)
      },
      onResponseEnd: () => finish('no answer'),
      onResponseError: (_controller, error) => finish(networkReason(error), grpcBy(error, String(request.origin))),
    })
  })
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

function grpcBy(error: unknown, origin: string): 'frames' | 'port' | undefined {
  if (speaksHttp2(error)) return 'frames'
  return isGrpcPort(origin) && symptomOf(error) !== undefined ? 'port' : undefined
}

/** If connecting to several addresses failed, the first error is the most useful one. */
function networkReason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return networkReason(error.errors[0])
  const message = reasonOf(error)
  const code = (error as NodeJS.ErrnoException).code
  if (message === '') return code ?? 'the connection failed'
  const symptom = symptomOf(error)
  const words = symptom === undefined ? message : `${symptom}: ${message}`
  return code === undefined || words.includes(code) ? words : `${words} (${code})`
}
