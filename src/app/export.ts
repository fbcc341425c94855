// The configuration's destinations as the export room takes them, and what is encoded for them: part of the composition root.
import { destinationsOf, type ConfiguredDestination } from '../config/destinations.ts'
import { createSeriesCap } from '../telemetry/metrics/series-cap.ts'
import { encodeLogs, encodeTraces } from '../telemetry/encode.ts'
import { encodeMetrics } from '../telemetry/metrics/encode.ts'
import { measure } from '../telemetry/metrics/measure.ts'
import { profiles } from '../platform/profile.ts'
import { telemetrySettings, type TelemetrySettings } from '../telemetry/settings.ts'
import type { Config } from '../config/options.ts'
import type { Bearer, Destination, Endpoint } from '../export/destination.ts'
import type { Encode } from '../export/parcel.ts'
import type { Chunk } from '../model/chunk.ts'
import type { LiveSecret } from '../config/live-secret.ts'
import type { MetricFlushOptions } from '../export/metric-flush.ts'
import type { MetricRefs } from '../telemetry/metrics/refs.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { Secret } from '../lib/secret.ts'
import type { PendingChunk, Signal } from '../store/ports/runs.ts'

export interface ExportParts {
  /** All of them, with the signals that are queued: metrics only where their temporality is delta. */
  readonly destinations: readonly Destination[]
  /** Those that take metrics. */
  readonly metricDestinations: MetricFlushOptions['destinations']
  /** What a frozen part is owed to. */
  readonly lanes: PendingChunk['to']
  readonly encode: Readonly<Record<Signal, Encode>>
  /** What a frozen part adds to the totals; undefined when metrics are off. */
  readonly measure: ((part: Chunk) => ProjectIncrements | undefined) | undefined
  readonly settings: TelemetrySettings
}

export function exportDestinations(config: Config): ExportParts {
  const settings = telemetryOf(config)
  const cap = createSeriesCap(settings.maxSeries)
  const encode: ExportParts['encode'] = {
    traces: parts => encodeTraces(parts, settings),
    metrics: parts => encodeMetrics(parts, settings, cap),
    logs: parts => encodeLogs(parts, settings),
  }
  const all = destinationsOf(config).map(one => ({
    ...destinationOf(one, config),
    temporality: one.temporality,
  }))
  const destinations = all.map(({ temporality, ...destination }) =>
    temporality === 'delta' ? destination : { ...destination, signals: withoutMetrics(destination) },
  )
  const lanes = destinations.flatMap(({ name, signals }) =>
    Object.keys(signals).map(signal => ({ destination: name, signal: signal as Signal })),
  )
  return {
    destinations,
    metricDestinations: all.filter(({ signals }) => signals.metrics !== undefined),
    lanes,
    encode,
    measure: config.observability.export.includes('metrics') ? part => measure(part, settings) : undefined,
    settings,
  }
}

/** How telemetry looks, as the operator decided. */
export function telemetryOf(config: Config): TelemetrySettings {
  return telemetrySettings({
    profiles,
    serviceName: config.service.name,
    resourceAttributes: config.resource.attributes,
    spanNames: config.traces.spanName,
    drop: config.attributes.drop ?? [],
    hash: config.attributes.hash ?? [],
    valueLengthLimit: config.attributes.valueLengthLimit,
    metricRefs: refsOf(config.metrics.refs),
    histogramBounds: config.metrics.histogramBounds,
    maxSeries: config.metrics.maxSeries,
  })
}

function refsOf(refs: readonly string[] | undefined): MetricRefs | undefined {
  const [word, ...others] = refs ?? []
  return others.length === 0 && (word === 'all' || word === 'default') ? word : refs
}

function withoutMetrics({ signals }: Destination): Destination['signals'] {
  const { metrics: _, ...others } = signals
  return others
}

function destinationOf({ name, token, targets }: ConfiguredDestination, config: Config): Destination {
  const signals: Partial<Record<Signal, Endpoint>> = {}
  for (const [signal, target] of Object.entries(targets)) {
    const { url, headers, timeout: timeoutMs, compression, tls } = target
    const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = tls
    signals[signal as Signal] = {
      url,
      get headers() {
        return Object.fromEntries(headers())
      },
      timeoutMs,
      compression,
      tls: { caFile, certFile, keyFile },
    }
  }
  const { httpProxy: http, httpsProxy: https, noProxy } = config
  return {
    name,
    signals,
    bearer: bearerOf(token),
    proxy: { http: http?.reveal(), https: https?.reveal(), no: noProxy?.join(',') },
  }
}

/** A token that follows its file: a backend that refuses it makes the file be read at once. */
function bearerOf(token: LiveSecret<Secret>): Bearer {
  return {
    current: () => token.current(),
    reload: async () => {
      const before = token.current()?.reveal()
      token.reload()
      return token.current()?.reveal() !== before
    },
  }
}
