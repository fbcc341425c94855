// An in-memory OTLP/HTTP backend. It accepts traces, metrics and logs, stores them in plain form, and misbehaves on demand. The demo has a simpler
// receiver of its own.
import { closeAfterTest } from './after-test.ts'
import { EventEmitter } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { reasonOf } from '../../src/lib/fault.ts'
import { Secret } from '../../src/lib/secret.ts'
import { answerAccepted, answerStatus, Misbehaviours, type Fault, type Misbehaviour } from './misbehaviour.ts'
import {
  decodeTelemetry,
  type ReceivedRequest,
  type Signal,
  type Telemetry,
  type ReceivedLogRecord,
  type ReceivedMetric,
  type ReceivedSpan,
} from './otlp-decode.ts'

export interface ReceiverOptions {
  /** The port of the receiver. Default: 0, which selects a free port. */
  readonly port?: number | undefined
  /** The required token. If set, requests without `Authorization: Bearer …` and this token are rejected with 401. */
  readonly token?: string | undefined
  /** Whether the received data is stored. If false, it is only counted, for long load tests. Default: true. */
  readonly keep?: boolean | undefined
}

/** The amount of data received so far, without rejected requests. */
export interface ReceivedCounts {
  readonly requests: number
  readonly spans: number
  readonly points: number
  readonly logs: number
}

const signals: ReadonlyMap<string, Signal> = new Map([
  ['/v1/traces', 'traces'],
  ['/v1/metrics', 'metrics'],
  ['/v1/logs', 'logs'],
])
const unzip = promisify(gunzip)

/**
 * Environment variables that make a daemon wait long for the receiver's responses, because the machine may be busy. If a response came too late, the
 * daemon would not know the outcome and would send the request again. That is correct, but most tests are not about it.
 */
export const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '300000' }

type Events = Record<'request' | 'received', [ReceivedRequest]> & { close: [] }

/**
 * A receiver for exports. It emits `request` for every request that it could decode, whatever its response, and `received` for requests whose data it
 * stored. Its arrays are in order of arrival.
 */
export class OtlpReceiver extends EventEmitter<Events> {
  readonly spans: ReceivedSpan[] = []
  readonly metrics: ReceivedMetric[] = []
  readonly logs: ReceivedLogRecord[] = []
  readonly requests: ReceivedRequest[] = []
  readonly #server: Server
  readonly #options: ReceiverOptions
  readonly #misbehaviours = new Misbehaviours()
  #token: Secret | undefined
  #counts: ReceivedCounts = noCounts

  private constructor(options: ReceiverOptions) {
    super()
    this.setMaxListeners(0)
    this.#options = options
    this.demandToken(options.token)
    // The keep-alive timeout is longer than any sender keeps a connection open, so that no sender uses a connection that is being closed and does not
    // learn the outcome.
    this.#server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
      this.#take(request, response).catch((error: unknown) => {
        if (response.headersSent || response.destroyed) return
        answerStatus(response, { kind: 'status', status: 400, message: reasonOf(error) })
      })
    })
  }

  /** Starts a receiver that listens on the loopback address. */
  static async start(options: ReceiverOptions = {}): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver(options)
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve)
    })
    return receiver
  }

  /** The receiver's base URL for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  get counts(): ReceivedCounts {
    return this.#counts
  }

  /** Requires this token from now on. If undefined, no token is required. */
  demandToken(token: string | undefined): void {
    this.#token = token === undefined ? undefined : new Secret(`Bearer ${token}`)
  }

  /** Starts a misbehaviour, and returns the function that ends it. */
  misbehave(order: Misbehaviour): () => void {
    return this.#misbehaviours.add(order)
  }

  /** Ends every misbehaviour. */
  behave(): void {
    this.#misbehaviours.clear()
  }

  /**
   * Resolves as soon as `holds`, which is called after every request, returns true for the received data. Rejects if nothing has arrived for
   * `silence` ms, or if the receiver is closed. The error states how much data was received.
   */
  async until(
    holds: (spans: readonly ReceivedSpan[], receiver: OtlpReceiver) => boolean,
    silence = 300_000,
  ): Promise<void> {
    if (holds(this.spans, this)) return
    await new Promise<void>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.off('request', look).off('close', closed)
      }
      const fail = (why: string): void => {
        settle()
        const { requests, spans, points, logs } = this.#counts
        const received = `${requests} requests, ${spans} spans, ${points} metric points, ${logs} log records`
        reject(new Error(`${why}. Until now: ${received}.`))
      }
      const closed = (): void => fail('The receiver was closed')
      const look = (): void => {
        timer.refresh()
        try {
          if (!holds(this.spans, this)) return
          settle()
          resolve()
        } catch (error) {
          settle()
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      }
      const timer = setTimeout(() => fail(`Nothing more was received for ${silence} ms`), silence)
      this.on('request', look).on('close', closed)
    })
  }

  /** Deletes all received data. Misbehaviours stay active. */
  clear(): void {
    for (const list of [this.spans, this.metrics, this.logs, this.requests]) list.length = 0
    this.#counts = noCounts
  }

  /** Closes the receiver and all connections. */
  async close(): Promise<void> {
    this.emit('close')
    await new Promise<void>(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(incoming)
    const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
    const signal = signals.get(path)
    const problem = problemOf(incoming, signal)
    if (signal === undefined || problem !== undefined) {
      answerStatus(response, problem ?? notFound)
      return
    }
    const plain = incoming.headers['content-encoding'] === 'gzip' ? await unzip(body) : body
    const telemetry = decodeTelemetry(signal, plain)
    const request: Mutable<ReceivedRequest> = {
      ...telemetry,
      path,
      signal,
      headers: incoming.headers,
      size: body.length,
      plainSize: plain.length,
      spanIds: telemetry.spans.map(({ spanId }) => spanId),
      at: Date.now(),
      status: undefined,
      kept: false,
    }
    if (this.#options.keep !== false) this.requests.push(request)
    await this.#answer(request, response)
    this.emit('request', request)
  }

  async #answer(request: Mutable<ReceivedRequest>, response: ServerResponse): Promise<void> {
    const order = this.#misbehaviours.take(request)
    const delay = order?.delay
    await (typeof delay === 'number' ? new Promise(resolve => setTimeout(resolve, delay)) : delay)
    const fault = order?.fault
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'drop') {
      response.destroy()
      return
    }
    if (fault?.kind === 'status') {
      request.status = fault.status
      if (fault.status < 300) this.#keep(request)
      answerStatus(response, fault)
      return
    }
    if (this.#token?.equals(request.headers.authorization ?? '') === false) {
      request.status = 401
      answerStatus(response, { kind: 'status', status: 401, message: 'a valid bearer token is needed' })
      return
    }
    this.#keep(request)
    if (fault?.kind === 'lost-answer') {
      response.destroy()
      return
    }
    request.status = 200
    answerAccepted(response, fault?.kind === 'partial' ? fault : undefined)
  }

  #keep(request: Mutable<ReceivedRequest>): void {
    request.kept = true
    this.#counts = {
      requests: this.#counts.requests + 1,
      spans: this.#counts.spans + request.spans.length,
      points: this.#counts.points + pointsOf(request),
      logs: this.#counts.logs + request.logs.length,
    }
    if (this.#options.keep !== false) {
      for (const span of request.spans) this.spans.push(span)
      for (const metric of request.metrics) this.metrics.push(metric)
      for (const log of request.logs) this.logs.push(log)
    }
    this.emit('received', request)
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

type StatusFault = Extract<Fault, { kind: 'status' }>

const notFound: StatusFault = { kind: 'status', status: 404, message: 'only /v1/traces, /v1/metrics and /v1/logs' }
const noCounts: ReceivedCounts = { requests: 0, spans: 0, points: 0, logs: 0 }

function pointsOf({ metrics }: Telemetry): number {
  return metrics.reduce((sum, { points }) => sum + points.length, 0)
}

/** Returns the error for a request that must be rejected before its body is read; undefined if there is no such error. */
function problemOf(incoming: IncomingMessage, signal: Signal | undefined): StatusFault | undefined {
  if (signal === undefined) return notFound
  if (incoming.method !== 'POST') return { kind: 'status', status: 405, message: 'only POST is served' }
  const type = incoming.headers['content-type']?.split(';', 1)[0]?.trim()
  const encoding = incoming.headers['content-encoding'] ?? 'identity'
  if (type === 'application/x-protobuf' && (encoding === 'gzip' || encoding === 'identity')) return undefined
  return { kind: 'status', status: 415, message: 'only application/x-protobuf is read, plain or gzip' }
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/** Starts a receiver that is closed automatically after the test. */
export async function startReceiver(options?: ReceiverOptions): Promise<OtlpReceiver> {
  return closeAfterTest(await OtlpReceiver.start(options))
}

/** Returns the IDs of the pipelines that arrived, in ascending order. A pipeline that arrived several times is repeated. */
export function pipelinesAt({ spans }: Pick<OtlpReceiver, 'spans'>): number[] {
  return spans
    .flatMap(({ kind, attributes }) => (kind === 'server' ? [Number(attributes['pipeline.id'])] : []))
    .sort((a, b) => a - b)
}

/** Returns the newest value of a metric, summed over all its series. For histograms, it sums their counts. */
export function newest(receiver: OtlpReceiver, name: string): number {
  const series = new Map<string, { nanos: bigint; value: number }>()
  for (const metric of receiver.metrics) {
    if (metric.name !== name) continue
    for (const point of metric.points) {
      const key = JSON.stringify([metric.resource.attributes['service.instance.id'], point.attributes])
      const value = Number('value' in point ? point.value : point.count)
      const known = series.get(key)
      if (known === undefined || point.nanos >= known.nanos) series.set(key, { nanos: point.nanos, value })
    }
  }
  return [...series.values()].reduce((sum, { value }) => sum + value, 0)
}
