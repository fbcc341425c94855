// The options of the OTLP exporter, with the names of the OpenTelemetry specification ("OpenTelemetry Protocol Exporter"):
// one set for all signals, and one for each.
import { z } from 'zod'
import { certificateFile, keyFile } from './file-kinds.ts'
import { headers } from './pair-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { oneOf, timeout } from './plain-kinds.ts'
import { kind, line } from './kind.ts'
import { secretSetting, setting } from './option.ts'
import { temporality } from './metric-options.ts'

export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

const protocol = kind(line.pipe(z.literal('http/protobuf')), {
  noun: 'the protocol `http/protobuf`',
  remedy: 'Remove it, and use an OTLP/HTTP endpoint (port 4318 of a Collector): no other protocol is supported.',
})

/** For all signals. A signal's own setting overrides them. */
export const otlpOptions = {
  endpoint: setting(httpUrl, {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    unset: '`http://localhost:4318`; with `destinations`: no `default` destination',
    description: 'Base URL of the OTLP backend; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended.',
    example: 'https://otlp.example.com',
  }),
  protocol: setting(protocol, {
    variable: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    default: 'http/protobuf',
    description: 'The OTLP transport; only one is supported.',
  }),
  headers: secretSetting(headers, {
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    description:
      'Headers of every request: `key=value` pairs, values percent-encoded; in YAML a mapping of plain values.',
    example: 'x-api-key=abc%20def',
  }),
  timeout: setting(timeout, {
    variable: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    default: '10s',
    description: 'Timeout of one request; a plain number is milliseconds.',
  }),
  compression: setting(oneOf(['gzip', 'none']), {
    variable: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    default: 'gzip',
    description: 'Compression of the requests.',
  }),
  certificate: setting(certificateFile, {
    variable: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    unset: "Node's built-in certificate authorities",
    description: 'PEM file with the CA certificates for the backend’s certificate.',
  }),
  clientKey: setting(keyFile, {
    variable: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'PEM file of the private key for mutual TLS.',
  }),
  clientCertificate: setting(certificateFile, {
    variable: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description: 'PEM file of the certificate chain for mutual TLS.',
  }),
  traces: signalOptions('traces'),
  metrics: {
    ...signalOptions('metrics'),
    temporalityPreference: setting(temporality, {
      variable: 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
      default: 'cumulative',
      description:
        'Temporality of metrics: `cumulative` totals, or `delta` points per pipeline. `lowmemory` means `delta`.',
    }),
  },
  logs: signalOptions('logs'),
}

/** The settings of one signal, which override the general ones. */
function signalOptions(signal: Signal) {
  const variable = (name: string): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`
  const own = (key: string): string => `\`otlp.${key}\` for ${signal} only.`
  const unset = (key: string): string => `\`otlp.${key}\``
  return {
    endpoint: setting(httpUrl, {
      variable: variable('ENDPOINT'),
      unset: '`otlp.endpoint` plus the path',
      description: `Full URL for ${signal}, used unchanged.`,
      example: `https://otlp.example.com/v1/${signal}`,
    }),
    protocol: setting(protocol, {
      variable: variable('PROTOCOL'),
      unset: unset('protocol'),
      description: own('protocol'),
    }),
    headers: secretSetting(headers, {
      variable: variable('HEADERS'),
      unset: unset('headers'),
      description: own('headers'),
    }),
    timeout: setting(timeout, { variable: variable('TIMEOUT'), unset: unset('timeout'), description: own('timeout') }),
    compression: setting(oneOf(['gzip', 'none']), {
      variable: variable('COMPRESSION'),
      unset: unset('compression'),
      description: own('compression'),
    }),
    certificate: setting(certificateFile, {
      variable: variable('CERTIFICATE'),
      unset: unset('certificate'),
      description: own('certificate'),
    }),
    clientKey: setting(keyFile, {
      variable: variable('CLIENT_KEY'),
      unset: unset('client_key'),
      description: own('client_key'),
    }),
    clientCertificate: setting(certificateFile, {
      variable: variable('CLIENT_CERTIFICATE'),
      unset: unset('client_certificate'),
      description: own('client_certificate'),
    }),
  }
}
