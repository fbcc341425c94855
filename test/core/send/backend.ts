// A simulated backend that decodes what the tests' encoder wrote, and responds as each test chooses.
import { createServer as createHttp } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttps, type ServerOptions } from 'node:https'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs/minimal.js'
import type { AnyChunk } from '../../../src/model/event.ts'
import type { Encode } from '../../../src/core/send/messages.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The IDs of the pipelines in the request. */
  readonly ids: readonly number[]
  /** Size of the body after decompression, bytes. */
  readonly bytes: number
  /** The decompressed body of the request. */
  readonly body: Buffer
  readonly at: number
  /** The response status. Undefined until the response is sent, and if none is sent. */
  status?: number
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/**
 * How the backend behaves after a request. `hang`: it does not respond. `cut`: it closes the connection without a response. `drip headers`: it sends
 * endless headers, one byte at a time. `drip body`: it sends a 200 at once, and then an endless body, one byte at a time.
 */
export type Behaviour = Reply | 'hang' | 'cut' | 'drip headers' | 'drip body'

export const ok: Reply = { status: 200 }

/** An encoder that writes a field 1 containing the pipeline's ID, plus as many bytes of padding as `padding` returns. */
export function encoderWith(padding: (pipelineId: number) => number): Encode {
  return chunk => {
    const id = idOf(chunk)
    return protobuf.Writer.create()
      .uint32(10)
      .string(`${id}:${'x'.repeat(padding(id))}`)
      .finish()
  }
}

function idOf({ key }: AnyChunk): number {
  return 'pipelineId' in key ? key.pipelineId : 0
}

export const encode = encoderWith(() => 0)

function decode(body: Uint8Array): number[] {
  const ids: number[] = []
  const reader = protobuf.Reader.create(body)
  while (reader.pos < reader.len) {
    reader.uint32()
    ids.push(Number.parseInt(reader.string(), 10))
  }
  return ids
}

export class Backend {
  readonly requests: Received[] = []
  /** Chooses the behaviour for each request. */
  behave: (request: Received, index: number) => Behaviour | Promise<Behaviour> = () => ok
  readonly #server: Server
  readonly #scheme: string
  readonly #drips = new Set<NodeJS.Timeout>()
  #watchers: (() => void)[] = []

  private constructor(tls: ServerOptions | undefined) {
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const raw = Buffer.concat(chunks)
        const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
        const received: Received = {
          method: request.method ?? '',
          path: request.url ?? '',
          headers: request.headers,
          ids: decode(body),
          bytes: body.length,
          body,
          at: Date.now(),
        }
        this.requests.push(received)
        void Promise.resolve(this.behave(received, this.requests.length - 1)).then(how => {
          this.#answer(how, received, response)
          for (const look of [...this.#watchers]) look()
        })
      })
    }
    this.#scheme = tls === undefined ? 'http' : 'https'
    // How long the backend keeps idle connections open, ms. This is longer than any sender keeps one. Otherwise a request could be sent on a
    // connection that is being closed, and its outcome would be unknown.
    const keepAliveTimeout = 300_000
    this.#server =
      tls === undefined ? createHttp({ keepAliveTimeout }, take) : createHttps({ ...tls, keepAliveTimeout }, take)
  }

  static async start(tls?: ServerOptions): Promise<Backend> {
    const backend = new Backend(tls)
    await new Promise<void>(resolve => backend.#server.listen(0, '127.0.0.1', resolve))
    return backend
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`
  }

  /** The IDs of accepted pipelines, in order of acceptance. */
  get accepted(): number[] {
    return this.requests.filter(({ status }) => status !== undefined && status < 300).flatMap(({ ids }) => ids)
  }

  /** Resolves once `condition` returns true. It is checked at once, and after every request. Rejects after two minutes. */
  async until(condition: (backend: Backend) => boolean): Promise<void> {
    if (condition(this)) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`not seen in ${this.requests.length} requests: ${String(condition)}`))
      }, 120_000)
      const look = (): void => {
        if (!condition(this)) return
        clearTimeout(timer)
        this.#watchers = this.#watchers.filter(other => other !== look)
        resolve()
      }
      this.#watchers.push(look)
    })
  }

  async close(): Promise<void> {
    for (const drip of this.#drips) clearInterval(drip)
    await new Promise<void>(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #answer(how: Behaviour, received: Received, response: ServerResponse): void {
    if (how === 'hang') return
    if (how === 'cut') {
      response.destroy()
      return
    }
    if (how === 'drip headers' || how === 'drip body') {
      // The bytes are written directly to the socket, because there is no other way to write endless headers.
      const start = how === 'drip body' ? 'Content-Type: text/plain\r\n\r\n' : 'X-Slow: '
      response.socket?.write(`HTTP/1.1 200 OK\r\n${start}`)
      this.#drips.add(setInterval(() => response.socket?.write('x'), 10))
      return
    }
    received.status = how.status
    response.writeHead(how.status, how.headers).end(how.body)
  }
}

/** An error response with a google.rpc.Status, as the OTLP specification requires. */
export function rpcStatus(message: string): Pick<Reply, 'headers' | 'body'> {
  const body = protobuf.Writer.create().uint32(8).int32(3).uint32(18).string(message).finish()
  return { headers: { 'content-type': 'application/x-protobuf' }, body }
}

/** An ExportTraceServiceResponse with a partial success. */
export function partialSuccess(rejected: number, message: string): Reply {
  const inner = protobuf.Writer.create().uint32(8).int64(rejected).uint32(18).string(message).finish()
  const body = protobuf.Writer.create().uint32(10).bytes(inner).finish()
  return { status: 200, headers: { 'content-type': 'application/x-protobuf' }, body }
}
