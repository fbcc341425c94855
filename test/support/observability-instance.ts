// A stand-in for an observability instance. It has the documented ingest-token API, and an OTLP endpoint that enforces tokens.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { decodeTraces, type ReceivedSpan } from './otlp-decode.ts'

export interface StandInOptions {
  readonly enforcement?: boolean
  /** The shape of the token list, which the documentation does not specify. */
  readonly list?: 'bare' | 'tokens' | 'data'
  readonly ids?: 'numbers' | 'strings'
  /** Whether the response to a token creation contains only the token, without its ID. */
  readonly hideIds?: boolean
  /** Whether tokens are listed with their creation times. */
  readonly times?: boolean
  /** The HTTP status with which the instance rejects a request to revoke the last valid token. */
  readonly lastStatus?: number
}

interface IngestToken {
  readonly id: number
  readonly name: string
  readonly value: string
  readonly createdAt: string
}

/** How a single request fails. `lost`: the request takes effect, but the connection is closed before a response is sent. */
export type Misbehaviour =
  | {
      readonly status: number
      readonly body?: string
      readonly type?: string
      readonly retryAfter?: string
      /** Whether the request takes effect although the response is an error. */
      readonly isDone?: true
    }
  | 'lost'
  | 'silent'
  | 'truncated'

export interface ObservabilityInstance {
  readonly url: string
  readonly otlpUrl: string
  readonly apiKey: string
  /** An API key whose role lacks the required permissions. */
  readonly viewerKey: string
  enforced: boolean
  /** All valid tokens, oldest first. */
  readonly tokens: readonly IngestToken[]
  /** The values of all tokens that were ever valid. */
  readonly issued: readonly string[]
  /** The numbers of accepted and rejected exports since the start. Empty exports are included. */
  readonly exports: { accepted: number; refused: number }
  /** The spans of the accepted exports, in order of arrival. */
  readonly spans: readonly ReceivedSpan[]
  /** The credentials of each rejected export, in order of arrival. */
  readonly refusals: readonly { readonly at: number; readonly bearer: string | undefined }[]
  /** Adds a token, as another administrator or cluster would. */
  add(name: string): IngestToken
  remove(id: string): void
  /** Makes one request fail: the next one with this method and a path that ends with `path`. */
  misbehaveOnce(method: string, path: string, how: Misbehaviour): void
  /** Called after a request has taken effect and before the response is sent. */
  onDone: (method: string, path: string) => void
  close(): Promise<void>
}

export async function startInstance(options: StandInOptions = {}): Promise<ObservabilityInstance> {
  let tokens: IngestToken[] = []
  let lastId = 100
  const issued: string[] = []
  const spans: ReceivedSpan[] = []
  const refusals: { at: number; bearer: string | undefined }[] = []
  const pending: { method: string; path: string; how: Misbehaviour }[] = []

  const add = (name: string): IngestToken => {
    const token = {
      id: (lastId += 1),
      name,
      value: `ingest-${randomBytes(12).toString('hex')}`,
      createdAt: new Date().toISOString(),
    }
    tokens.push(token)
    issued.push(token.value)
    return token
  }

  const shownId = (id: number) => (options.ids === 'strings' ? String(id) : id)

  function shownList(): unknown {
    const list = tokens.map(({ id, name, createdAt }) => ({
      id: shownId(id),
      name,
      ...(options.times === true ? { created_at: createdAt } : {}),
    }))
    if (options.list === 'tokens') return { tokens: list }
    return options.list === 'data' ? { data: list } : list
  }

  function api(method: string, path: string, body: string): [number, unknown] {
    if (path === '/tokens' && method === 'GET') return [200, shownList()]
    if (path === '/tokens' && method === 'POST') {
      const { name } = JSON.parse(body) as { name?: unknown }
      if (typeof name !== 'string' || name === '') return [400, { error: 'name is required' }]
      const { id, value } = add(name)
      return [201, { token: value, ...(options.hideIds === true ? {} : { id: shownId(id), name }) }]
    }
    if (path.startsWith('/tokens/') && method === 'DELETE') {
      const token = tokens.find(one => String(one.id) === decodeURIComponent(path.slice('/tokens/'.length)))
      if (token === undefined) return [404, { error: 'token not found' }]
      if (instance.enforced && tokens.length === 1) {
        return [options.lastStatus ?? 409, { error: 'cannot revoke the last valid token while enforcement is enabled' }]
      }
      tokens = tokens.filter(one => one !== token)
      return [204, undefined]
    }
    if (path === '/state' && method === 'GET') return [200, { enabled: instance.enforced }]
    if (path === '/state' && method === 'PUT') {
      const { enabled } = JSON.parse(body) as { enabled?: unknown }
      if (typeof enabled !== 'boolean') return [400, { error: 'enabled must be a boolean' }]
      instance.enforced = enabled
      return [200, { enabled }]
    }
    return [404, { error: 'not found' }]
  }

  function otlp(request: IncomingMessage, body: Buffer): [number, unknown] {
    if (request.method !== 'POST' || request.url !== '/v1/traces') return [404, { error: 'not found' }]
    if (request.headers['content-type'] !== 'application/x-protobuf') return [415, { error: 'unsupported media type' }]
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (instance.enforced && !tokens.some(token => token.value === bearer)) {
      instance.exports.refused += 1
      refusals.push({ at: Date.now(), bearer })
      return [401, { error: 'invalid ingest token' }]
    }
    const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    spans.push(...decodeTraces(plain))
    instance.exports.accepted += 1
    return [200, undefined]
  }

  function handle(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { method = '', url = '' } = request
    const isApi = url.startsWith('/api/v1/ingest_auth')
    const wrong = pending.findIndex(one => one.method === method && url.endsWith(one.path))
    const how = wrong === -1 ? undefined : pending.splice(wrong, 1)[0]?.how
    if (how === 'silent') return
    if (typeof how === 'object') {
      if (how.isDone === true) api(method, url.slice('/api/v1/ingest_auth'.length), body.toString())
      const wait = how.retryAfter === undefined ? {} : { 'retry-after': how.retryAfter }
      response.writeHead(how.status, { 'content-type': how.type ?? 'application/json', ...wait }).end(how.body ?? '{}')
      return
    }
    const key = request.headers['observability-api-key']
    const [status, answer] = !isApi
      ? otlp(request, body)
      : key === instance.viewerKey
        ? [403, { error: 'editor role required' }]
        : key === instance.apiKey
          ? api(method, url.slice('/api/v1/ingest_auth'.length), body.toString())
          : [401, { error: `invalid api key ${String(key)}` }]
    instance.onDone(method, url)
    if (how === 'lost') {
      response.destroy()
      return
    }
    const text = answer === undefined ? '' : JSON.stringify(answer)
    response.writeHead(status, answer === undefined ? {} : { 'content-type': 'application/json' })
    response.end(how === 'truncated' ? text.slice(0, Math.ceil(text.length / 2)) : text)
  }

  // The keep-alive timeout is longer than any sender keeps a connection open, so that no sender uses a connection that is being closed and gets no
  // response.
  const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => handle(request, Buffer.concat(chunks), response))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const instance: ObservabilityInstance = {
    url,
    otlpUrl: `${url}/v1/traces`,
    apiKey: `key-${randomBytes(8).toString('hex')}`,
    viewerKey: `viewer-${randomBytes(8).toString('hex')}`,
    enforced: options.enforcement ?? true,
    get tokens() {
      return tokens
    },
    issued,
    exports: { accepted: 0, refused: 0 },
    spans,
    refusals,
    add,
    remove: id => {
      tokens = tokens.filter(token => String(token.id) !== id)
    },
    misbehaveOnce: (method, path, how) => {
      pending.push({ method, path, how })
    },
    onDone: () => undefined,
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return instance
}
