// The daemon's own metrics and traces. They are collected for `/metrics`, and exported by the OpenTelemetry SDK if configured.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import {
  destinationsOf,
  withPath,
  type ConfiguredDestination,
  type ConfiguredTarget,
} from '../configuration/destinations.ts'
import { countedMetrics } from './table.ts'
import type { Observed } from './observe-parts.ts'
import { createMeters, createWatch, type Watch } from './watch.ts'
import { createScrape, localProvider, startSelfSdk, type SelfTarget } from './sdk.ts'
import { sdkOptions, type Signal } from '../configuration/telemetry-options.ts'
import { version } from '../../lib/version.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Config } from '../configuration/options.ts'
import type { Feature } from '../feature.ts'
import type { Started } from '../steps.ts'

export interface OwnTelemetry {
  readonly watch: Watch
  /** Sets the function that reads the observed metrics from now on. */
  observe(read: () => Promise<Observed>): void
  collect(): Promise<readonly ScopeMetrics[]>
}

/** The maximum time for sending the remaining telemetry when the daemon stops, ms. */
const deadline = 5_000

/** Starts the daemon's own telemetry. The SDK is loaded only if something is exported. */
export async function startSelfTelemetry(
  config: Config,
  features: readonly Feature[],
  clock: Clock,
): Promise<Started<OwnTelemetry>> {
  const { telemetry, sdk: options } = config.self
  const settings = {
    ...{ interval: options.metricExportInterval, timeout: options.metricExportTimeout },
    variables: variablesOf(config),
  }
  const scrape = createScrape()
  const isExported = telemetry && !options.disabled
  const sdk = isExported ? await startSelfSdk({ ...selfTargets(config), settings, scrape }) : undefined
  const provider = sdk?.meters ?? localProvider(scrape)
  let read: (() => Promise<Observed>) | undefined
  const observe = async (): Promise<Observed> => {
    if (read === undefined) throw new Error('the daemon has not started yet')
    return read()
  }
  const meters = createMeters(provider.getMeter('pipespan', version), observe, countedMetrics(features))
  const part: OwnTelemetry = {
    watch: createWatch({ meters, tracer: sdk?.tracer, now: () => clock.now() }),
    observe: reading => (read = reading),
    collect: async () => scrape.collect(),
  }
  return { part, why: 'nothing more is measured', stop: async () => sdk?.stop(deadline) }
}

/** Returns the `OTEL_…` variables that the SDK may read. Each value has been validated, and may come from the configuration file. */
function variablesOf({ self, otlp }: Config): Readonly<Record<string, string>> {
  const given = Object.entries(sdkOptions).flatMap(([key, { spec }]) => {
    const value = self.sdk[key as keyof typeof sdkOptions]
    return typeof spec.variable !== 'string' || value === undefined ? [] : [[spec.variable, String(value)]]
  })
  const temporality = otlp.metrics.temporalityPreference
  given.push(['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', temporality])
  return Object.fromEntries(given) as Record<string, string>
}

/**
 * Returns the endpoint for the daemon's own telemetry. An endpoint that is configured for it is used without headers and tokens. Otherwise the first
 * destination for pipelines is used, with its headers and tokens.
 */
function selfTargets(config: Config): { readonly traces: SelfTarget; readonly metrics: SelfTarget } {
  const { self, otlp } = config
  const shared = { timeoutMs: otlp.timeout, compression: otlp.compression }
  if (self.otlpEndpoint !== undefined) {
    const base = self.otlpEndpoint
    const target = (signal: Signal): SelfTarget => ({ ...shared, url: withPath(base, signal), headers: () => ({}) })
    return { traces: target('traces'), metrics: target('metrics') }
  }
  const [first] = destinationsOf({
    ...config,
    observability: { ...config.observability, export: ['traces', 'metrics'] },
  })
  const target = (signal: 'traces' | 'metrics'): SelfTarget => {
    const found = first?.targets[signal]
    return found === undefined || first === undefined
      ? { ...shared, url: `http://localhost:4318/v1/${signal}`, headers: () => ({}) }
      : targetOf(first, found)
  }
  return { traces: target('traces'), metrics: target('metrics') }
}

function targetOf({ token }: ConfiguredDestination, target: ConfiguredTarget): SelfTarget {
  const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = target.tls
  return {
    url: target.url,
    headers: () => {
      const given = Object.fromEntries([...target.headers()].map(([name, value]) => [name, value.reveal()]))
      const bearer = token.current()
      return bearer === undefined ? given : { ...given, authorization: `Bearer ${bearer.reveal()}` }
    },
    timeoutMs: target.timeout,
    compression: target.compression,
    tls: { caFile, certFile, keyFile },
  }
}
