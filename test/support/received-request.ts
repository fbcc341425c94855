// One export request as the receiver saw it: what was sent, when, and what became of it.
import { decodeLogs, type ReceivedLogRecord } from './otlp-logs.ts'
import { decodeMetrics, type ReceivedMetric } from './otlp-metrics.ts'
import { decodeTraces, type ReceivedSpan } from './otlp-traces.ts'
import type { IncomingHttpHeaders } from 'node:http'

export type Signal = 'traces' | 'metrics' | 'logs'

/** What a request carries; the other two signals are empty. */
export interface Telemetry {
  readonly spans: readonly ReceivedSpan[]
  readonly metrics: readonly ReceivedMetric[]
  readonly logs: readonly ReceivedLogRecord[]
}

export interface ReceivedRequest extends Telemetry {
  readonly path: string
  readonly signal: Signal
  readonly headers: IncomingHttpHeaders
  /** Bytes on the wire. */
  readonly size: number
  /** Bytes after decompression. */
  readonly plainSize: number
  /** In the order they were sent. */
  readonly spanIds: readonly string[]
  /** When the body was complete, Unix ms. */
  readonly at: number
  /** HTTP status of the answer; undefined while there is none, and where the connection was cut. */
  readonly status: number | undefined
  /** True when its data counts as received. */
  readonly kept: boolean
}

/** Throws on bytes that are no request of this signal. */
export function decodeTelemetry(signal: Signal, body: Uint8Array): Telemetry {
  switch (signal) {
    case 'traces':
      return { spans: decodeTraces(body), metrics: [], logs: [] }
    case 'metrics':
      return { spans: [], metrics: decodeMetrics(body), logs: [] }
    case 'logs':
      return { spans: [], metrics: [], logs: decodeLogs(body) }
  }
}
