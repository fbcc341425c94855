// The configuration's destinations as the export room takes them, and what is encoded for them: part of the composition root.
import { destinationsOf, type ConfiguredDestination } from './config/destinations.ts'
import { encodeTraces } from './telemetry/encode.ts'
import { profiles } from './platform/profile.ts'
import { telemetrySettings, type TelemetrySettings } from './telemetry/settings.ts'
import type { Config } from './config/options.ts'
import type { Bearer, Destination, Endpoint } from './export/destination.ts'
import type { Encode } from './export/parcel.ts'
import type { LiveSecret } from './config/live-secret.ts'
import type { Log } from './lib/log.ts'
import type { Secret } from './lib/secret.ts'
import type { Owed, Signal } from './store/runs.ts'

export interface ExportParts {
  readonly destinations: readonly Destination[]
  /** What a frozen part is owed to. */
  readonly lanes: Owed['to']
  readonly encode: Readonly<Partial<Record<Signal, Encode>>>
}

export function exportDestinations(config: Config, log: Log): ExportParts {
  const settings = telemetryOf(config)
  const encode: ExportParts['encode'] = { traces: parts => encodeTraces(parts, settings) }
  const unavailable = config.observability.export.filter(signal => encode[signal] === undefined)
  if (unavailable.length > 0) {
    log.info({ signals: unavailable }, 'these signals are not available in this version and are not sent')
  }
  const destinations = destinationsOf(config).map(one => destinationOf(one, config, encode))
  const lanes = destinations.flatMap(({ name, signals }) =>
    Object.keys(signals).map(signal => ({ destination: name, signal: signal as Signal })),
  )
  return { destinations, lanes, encode }
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
  })
}

function destinationOf(
  { name, token, targets }: ConfiguredDestination,
  config: Config,
  encode: ExportParts['encode'],
): Destination {
  const signals: Partial<Record<Signal, Endpoint>> = {}
  for (const [signal, target] of Object.entries(targets)) {
    if (encode[signal as Signal] === undefined) continue
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
