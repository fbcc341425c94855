// The options of the OTLP exporter, with the names of the OpenTelemetry specification ("OpenTelemetry Protocol Exporter"):
// one set for all signals, and one for each.
import { z } from 'zod'
import { certificateFile, keyFile } from './file-kinds.ts'
import { headers } from './pair-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { oneOf, timeout } from './plain-kinds.ts'
import { kind, line, type Kind } from './kind.ts'
import { named, secretSetting, setting } from './option.ts'
import { temporality } from './metric-options.ts'

export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

const compression = oneOf(['gzip', 'none'])

const protocol = kind(line.pipe(z.literal('http/protobuf')), {
  noun: 'the protocol `http/protobuf`',
  remedy: 'Remove it, and use an OTLP/HTTP endpoint (port 4318 of a Collector): no other protocol is supported.',
})

/** The settings of one signal, which override the general ones. */
function forSignal(signal: Signal) {
  const own = <T>(key: string, kind: Kind<T>) =>
    setting(kind, { unset: `\`otlp.${key}\`` }).describe(`\`otlp.${key}\` for ${signal} only.`)
  return {
    endpoint: setting(httpUrl, {
      unset: '`otlp.endpoint` plus the path',
      example: `https://otlp.example.com/v1/${signal}`,
    }).describe(`Full URL for ${signal}, used unchanged.`),
    protocol: own('protocol', protocol),
    headers: secretSetting(headers, { unset: '`otlp.headers`' }).describe(`\`otlp.headers\` for ${signal} only.`),
    timeout: own('timeout', timeout),
    compression: own('compression', compression),
    certificate: own('certificate', certificateFile),
    clientKey: own('client_key', keyFile),
    clientCertificate: own('client_certificate', certificateFile),
  }
}

/** For all signals. A signal's own setting overrides them. */
export const otlpOptions = named('OTEL_EXPORTER_OTLP', {
  endpoint: setting(httpUrl, {
    unset: '`http://localhost:4318`; with `destinations`: no `default` destination',
    example: 'https://otlp.example.com',
  }).describe('Base URL of the OTLP backend; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended.'),
  protocol: setting(protocol, { default: 'http/protobuf' }).describe('The OTLP transport; only one is supported.'),
  headers: secretSetting(headers, { example: 'x-api-key=abc%20def' }).describe(
    'Headers of every request: `key=value` pairs, values percent-encoded; in YAML a mapping of plain values.',
  ),
  timeout: setting(timeout, { default: '10s' }).describe('Timeout of one request; a plain number is milliseconds.'),
  compression: setting(compression, { default: 'gzip' }).describe('Compression of the requests.'),
  certificate: setting(certificateFile, { unset: "Node's built-in certificate authorities" }).describe(
    'PEM file with the CA certificates for the backend’s certificate.',
  ),
  clientKey: setting(keyFile).describe('PEM file of the private key for mutual TLS.'),
  clientCertificate: setting(certificateFile).describe('PEM file of the certificate chain for mutual TLS.'),
  traces: forSignal('traces'),
  metrics: {
    ...forSignal('metrics'),
    temporalityPreference: setting(temporality, { default: 'cumulative' }).describe(
      'Temporality of metrics: `cumulative` totals, or `delta` points per pipeline. `lowmemory` means `delta`.',
    ),
  },
  logs: forSignal('logs'),
})
