// The demo's OTLP/HTTP backend. It emits the spans, events and notifications that it receives, and stores nothing. It accepts metrics without reading
// them, because the daemon's `/metrics` shows them. If it has ingest tokens, it enforces them and provides their API.
import { EventEmitter } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { reasonOf } from '../lib/fault.ts'
import type { IngestAuth } from './ingest-auth.ts'
import { eventsIn, spansIn, type ReceivedEvent, type ReceivedSpan } from './received.ts'
import { exportResponse, rpcStatus } from './otlp-messages.ts'

const unzip = promisify(gunzip)
const protobufType = 'application/x-protobuf'

/** The decoded content of one OTLP request. */
interface Received {
  readonly spans: readonly ReceivedSpan[]
  readonly events: readonly ReceivedEvent[]
}

const decoders: Readonly<Record<string, (body: Uint8Array) => Received>> = {
  '/v1/traces': body => ({ spans: spansIn(body), events: [] }),
  '/v1/logs': body => ({ spans: [], events: eventsIn(body) }),
  '/v1/metrics': () => ({ spans: [], events: [] }),
}

/** Returns the reason why these spans are permanently rejected, or undefined if they are accepted. */
export type Refuses = (spans: readonly ReceivedSpan[]) => string | undefined

/** The path to which notifications are posted, as CloudEvents. */
export const messagePath = '/messages'

/** Emits `received` for each accepted request, and `message` with the title of each notification. */
export class DemoReceiver extends EventEmitter<{ received: [Received]; message: [string] }> {
  readonly #server: Server

  readonly #refuses: Refuses
  readonly #auth: IngestAuth | undefined

  private constructor(refuses: Refuses, auth: IngestAuth | undefined) {
    super()
    this.#refuses = refuses
    this.#auth = auth
    // This timeout is longer than any sender keeps an idle connection open. Otherwise a sender could use a connection that is being closed, and would
    // not learn the outcome of its request.
    this.#server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
      this.#take(request, response).catch((error: unknown) => refuse(response, 400, reasonOf(error)))
    })
  }

  /** Starts the backend on a free port on the loopback address. */
  static async start(refuses: Refuses = () => undefined, auth?: IngestAuth): Promise<DemoReceiver> {
    const receiver = new DemoReceiver(refuses, auth)
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return receiver
  }

  /** The base URL for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  }

  /** Checks `holds` after every request. Resolves to true when `holds` returns true, and to false after `timeout` ms. */
  async until(holds: () => boolean, timeout: number): Promise<boolean> {
    return new Promise(resolve => {
      const look = (): void => {
        if (holds()) settle(true)
      }
      const settle = (answer: boolean): void => {
        clearTimeout(timer)
        this.off('received', look)
        resolve(answer)
      }
      const timer = setTimeout(() => settle(false), timeout)
      this.on('received', look)
      look()
    })
  }

  /** Closes all connections immediately. */
  async close(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const encoding = request.headers['content-encoding'] ?? 'identity'
    const { method = '', url = '', headers } = request
    const decode = decoders[url]
    const ofTokens = this.#auth?.answer(method, url, headers, body.toString())
    if (ofTokens !== undefined) {
      response.writeHead(ofTokens.status, { 'content-type': 'application/json' })
      response.end(ofTokens.body === undefined ? undefined : JSON.stringify(ofTokens.body))
    } else if (request.url === messagePath && request.method === 'POST') {
      const { data } = JSON.parse(body.toString()) as { readonly data?: { readonly title?: string } }
      response.writeHead(200).end()
      this.emit('message', data?.title ?? '')
    } else if (decode === undefined) refuse(response, 404, 'only /v1/traces and /v1/logs')
    else if (this.#auth?.accepts(headers) === false) refuse(response, 401, 'no valid ingest token')
    else if (request.method !== 'POST') refuse(response, 405, 'only POST is served')
    else if (request.headers['content-type'] !== protobufType || !['gzip', 'identity'].includes(encoding))
      refuse(response, 415, 'only application/x-protobuf is read, plain or gzip')
    else {
      const received = decode(encoding === 'gzip' ? await unzip(body) : body)
      const why = this.#refuses(received.spans)
      if (why !== undefined) {
        refuse(response, 400, why)
        return
      }
      response.writeHead(200, { 'content-type': protobufType }).end(exportResponse.encode({}).finish())
      this.emit('received', received)
    }
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return
  response.writeHead(status, { 'content-type': protobufType }).end(rpcStatus.encode({ message }).finish())
}
