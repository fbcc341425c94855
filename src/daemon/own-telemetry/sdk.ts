// Exports the daemon's own metrics and traces with the OpenTelemetry SDK, which is loaded only for this.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { metrics, trace, type MeterProvider, type Tracer } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { ATTR_SERVICE_INSTANCE_ID } from '@opentelemetry/semantic-conventions'
import { after, type Timer } from '../../lib/timer.ts'
import { ownResource, type Scrape } from './scrape.ts'

export interface SelfTarget {
  /** The full URL. */
  readonly url: string
  /** Called before every request. */
  readonly headers: () => Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  /** Paths of PEM files. */
  readonly tls?: {
    readonly caFile?: string | undefined
    readonly certFile?: string | undefined
    readonly keyFile?: string | undefined
  }
}

export interface SelfSettings {
  /** How often metrics are sent, ms. */
  readonly interval: number
  /** Of one export of metrics, ms: the interval at most. */
  readonly timeout: number | undefined
  /** The `OTEL_…` variables that the SDK may read. */
  readonly variables: Readonly<Record<string, string>>
}

export interface SelfSdkOptions {
  readonly traces: SelfTarget
  readonly metrics: SelfTarget
  readonly settings: SelfSettings
  /** The reader by which metrics can be scraped, too. */
  readonly scrape: Scrape
}

export interface SelfSdk {
  readonly meters: MeterProvider
  readonly tracer: Tracer
  /** Exports what is left, for `deadlineMs` at most. */
  stop(deadlineMs: number): Promise<void>
}

/** Of the specification, ms. */
const defaultTimeout = 30_000

export async function startSelfSdk({
  traces,
  metrics: forMetrics,
  settings,
  scrape,
}: SelfSdkOptions): Promise<SelfSdk> {
  const [{ NodeSDK }, { OTLPTraceExporter }, { OTLPMetricExporter }, { PeriodicExportingMetricReader }] =
    await Promise.all([
      import('@opentelemetry/sdk-node'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/exporter-metrics-otlp-proto'),
      import('@opentelemetry/sdk-metrics'),
    ])
  const { interval, timeout = defaultTimeout, variables } = settings
  const sdk = withVariables(variables, () => {
    const periodic = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(exporterOptions(forMetrics)),
      exportIntervalMillis: interval,
      // The SDK throws where it is the longer one.
      exportTimeoutMillis: Math.min(timeout, interval),
    })
    const built = new NodeSDK({
      resource: ownResource().merge(resourceFromAttributes({ [ATTR_SERVICE_INSTANCE_ID]: randomUUID() })),
      autoDetectResources: false,
      metricReaders: [scrape.reader, periodic],
      traceExporter: new OTLPTraceExporter(exporterOptions(traces)),
      logRecordProcessors: [],
      instrumentations: [],
    })
    built.start()
    return built
  })
  return {
    meters: metrics.getMeterProvider(),
    tracer: trace.getTracer('pipespan'),
    stop: async deadlineMs => {
      let timer: Timer | undefined
      const late = new Promise<void>(resolve => {
        timer = after(deadlineMs, resolve, () => resolve())
      })
      try {
        // An unreachable backend must neither delay the stop nor make it fail.
        await Promise.race([sdk.shutdown().catch(() => undefined), late])
      } finally {
        timer?.stop()
        metrics.disable()
        trace.disable()
      }
    },
  }
}

function exporterOptions({ url, headers, timeoutMs, compression, tls = {} }: SelfTarget) {
  const { caFile, certFile, keyFile } = tls
  return {
    url,
    headers: async () => ({ ...headers() }),
    timeoutMillis: timeoutMs,
    compression: compression as never,
    httpAgentOptions: {
      keepAlive: true,
      ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
      ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
      ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
    },
  }
}

/**
 * Runs `build` with these `OTEL_…` variables and no others. What the SDK cannot use it throws at or ignores without a word; headers and certificates
 * in these variables are for the telemetry of pipelines, and must not be sent elsewhere; with a log level, it would print backends' messages without
 * redaction.
 */
function withVariables<T>(variables: SelfSettings['variables'], build: () => T): T {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith('OTEL_'))
  for (const [name] of hidden) Reflect.deleteProperty(process.env, name)
  Object.assign(process.env, variables)
  try {
    return build()
  } finally {
    for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name)
    Object.assign(process.env, Object.fromEntries(hidden))
  }
}
