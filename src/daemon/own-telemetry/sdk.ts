// Exports the daemon's own metrics and traces with the OpenTelemetry SDK, which is loaded only for this purpose.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { metrics, trace, type MeterProvider as ApiMeterProvider, type Tracer } from '@opentelemetry/api'
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources'
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions'
import { within } from '../../lib/timer.ts'
import { MeterProvider, MetricReader, type IMetricReader, type ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { version } from '../../lib/version.ts'

export interface SelfTarget {
  /** The full URL of the OTLP endpoint. */
  readonly url: string
  /** Returns the headers of a request. Called before every request, so that a changed token is used. */
  readonly headers: () => Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  /** The paths of the PEM files for TLS. */
  readonly tls?: {
    readonly caFile?: string | undefined
    readonly certFile?: string | undefined
    readonly keyFile?: string | undefined
  }
}

interface SelfSettings {
  /** The interval between two metric exports, ms. */
  readonly interval: number
  /** The timeout of one metric export, ms. It is at most the interval. */
  readonly timeout: number | undefined
  /** The `OTEL_…` variables that the SDK may read. */
  readonly variables: Readonly<Record<string, string>>
}

interface SelfSdkOptions {
  readonly traces: SelfTarget
  readonly metrics: SelfTarget
  readonly settings: SelfSettings
  /** The reader through which metrics can also be scraped. */
  readonly scrape: Scrape
}

interface SelfSdk {
  readonly meters: ApiMeterProvider
  readonly tracer: Tracer
  /** Exports the remaining telemetry, for at most `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}

/** The default timeout in the OpenTelemetry specification, ms. */
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
      // The SDK throws an error if the timeout exceeds the interval.
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
      // An unreachable backend must neither delay the stop nor make it fail.
      const shutdown = sdk.shutdown().catch(() => undefined)
      await within(deadlineMs, shutdown, () => undefined)
      metrics.disable()
      trace.disable()
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
 * Runs `build` with these `OTEL_…` variables and no others. Given a value that it cannot use, the SDK throws or silently ignores it. Headers and
 * certificates in such variables are meant for pipeline telemetry and must not be sent elsewhere. With a log level set, the SDK would print backends'
 * messages without redaction.
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

// Collects the daemon's own metrics on demand, without exporting them.
class ScrapeReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {
    // This reader has nothing to shut down.
  }

  protected override async onForceFlush(): Promise<void> {
    // This reader has nothing to flush.
  }
}

interface Scrape {
  readonly reader: IMetricReader
  collect(): Promise<readonly ScopeMetrics[]>
}

export function createScrape(): Scrape {
  const reader = new ScrapeReader()
  return { reader, collect: async () => (await reader.collect()).resourceMetrics.scopeMetrics }
}

/** Creates the meter provider for a daemon that does not export its own telemetry. Its metrics can only be scraped. */
export function localProvider(scrape: Scrape): MeterProvider {
  return new MeterProvider({ resource: ownResource(), readers: [scrape.reader] })
}

/**
 * Returns the daemon's own resource. Its name is always `pipespan`, because `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` apply to pipeline
 * telemetry.
 */
function ownResource(): Resource {
  return resourceFromAttributes({ [ATTR_SERVICE_NAME]: 'pipespan', [ATTR_SERVICE_VERSION]: version })
}
