// The daemon's own metrics and traces: where they go, as the configuration has it.
import {
  destinationsOf,
  withPath,
  type ConfiguredDestination,
  type ConfiguredTarget,
} from './configuration/destinations.ts'
import { countedMetrics } from './own-telemetry/counts.ts'
import { startOwnTelemetry, type OwnTelemetry, type OwnTelemetryOptions } from './own-telemetry/own-telemetry.ts'
import { sdkOptions, type Signal } from './configuration/telemetry-options.ts'
import type { Feature } from './feature.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { SelfTarget } from './own-telemetry/sdk.ts'
import type { Started } from './steps.ts'

/** How long sending the rest may take when the daemon stops, ms. */
const deadline = 5_000

export async function startSelfTelemetry(
  config: Config,
  features: readonly Feature[],
  clock: Clock,
): Promise<Started<OwnTelemetry>> {
  const { telemetry, sdk } = config.self
  const targets = telemetry && !sdk.disabled ? selfTargets(config) : undefined
  const settings = {
    interval: sdk.metricExportInterval,
    timeout: sdk.metricExportTimeout,
    variables: variablesOf(config),
  }
  const own = await startOwnTelemetry({
    ...{ targets, settings, metrics: countedMetrics(features) },
    now: () => clock.now(),
  })
  return { part: own, why: 'nothing more is measured', stop: async () => own.stop(deadline) }
}

/** The variables that the SDK may read: each has been checked, and may have come from the file. */
function variablesOf({ self, otlp }: Config): Readonly<Record<string, string>> {
  const given = Object.entries(sdkOptions).flatMap(([key, { spec }]) => {
    const value = self.sdk[key as keyof typeof sdkOptions]
    return typeof spec.variable !== 'string' || value === undefined ? [] : [[spec.variable, String(value)]]
  })
  const temporality = otlp.metrics.temporalityPreference
  given.push(['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', temporality])
  return Object.fromEntries(given) as Record<string, string>
}

/** The endpoint configured for it, without headers and tokens; else the first destination of the pipelines' telemetry, in the same way. */
function selfTargets(config: Config): OwnTelemetryOptions['targets'] {
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
