// The export options: metrics, OTLP for all signals and for each signal, additional destinations, and the daemon's own telemetry. The OTLP and SDK
// options have the names that the OpenTelemetry specification defines; no other variables are passed to the SDK.
import { boolean, duration, integer, oneOf, timeout, destinationName, ratio } from './plain-kinds.ts'
import { z } from 'zod'
import { itemsOf, patterns, noneOr, someOf } from './list-kinds.ts'
import { kind, refusing, line, type Kind } from './kind.ts'
import type { Wrong } from './config-fault.ts'
import { setting, named, secretSetting, Each } from './option.ts'
import { certificateFile, keyFile, secret } from './secret-kinds.ts'
import { headers } from './pair-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { projectChoice } from './project-kinds.ts'

const boundsRemedy = 'Write seconds above 0 in ascending order, such as 1,10,60,600.'

/** The upper bounds of histogram buckets in seconds, in ascending order. */
const bounds = kind<readonly number[]>(
  itemsOf().pipe(
    z.array(z.string().transform(Number).pipe(z.number().positive())).nonempty().superRefine(refusing(notAscending)),
  ),
  { noun: 'a list of bounds', item: 'a bound', remedy: boundsRemedy },
)

function notAscending(bounds: readonly number[]): Wrong | undefined {
  const low = bounds.find((bound, at) => bound <= (bounds[at - 1] ?? 0))
  return low === undefined ? undefined : { what: `${low} is not above the bound before it.`, remedy: boundsRemedy }
}

export const temporality = oneOf(['cumulative', 'delta', 'lowmemory'])

export const metricOptions = {
  interval: setting(duration, { default: '60s' }).describe('How often cumulative metrics are sent.'),
  refs: setting(patterns, { unset: 'every ref; all merge requests share one', example: 'main,release/*' }).describe(
    'Refs that have their own metric series: `all`, including merge requests; `default`, only the default branch; or patterns. All other refs share the value `*`.',
  ),
  histogramBounds: setting(bounds, { default: '1,5,10,30,60,300,600,1800,3600' }).describe(
    'Upper bounds of duration buckets in seconds. If they change, the totals start anew.',
  ),
  maxSeries: setting(integer({ min: 2, max: 1_000_000 }), { default: '2000' }).describe(
    'Maximum number of series per metric and project; further series share the series `otel.metric.overflow`.',
  ),
  scrapeMaxSeries: setting(integer({ min: 1, max: 100_000_000 }), { default: '500000' }).describe(
    'Maximum number of series of pipelines on `/metrics`, of all metrics and projects together; each bucket of a histogram is a series. Gauges come first, then counters, then histograms; series beyond the maximum are left out and counted (`pipespan.scrape.left_out`).',
  ),
  open: setting(boolean, { default: 'false' }).describe(
    'Serve `/metrics` on the admin listener without the admin token and under any host name.',
  ),
}

/** The option for job metrics. The reference lists it with the other metrics options, but its name is not below `metrics`. */
export const jobMetricsOption = setting(oneOf(['default-branch', 'all', 'off']), {
  default: 'default-branch',
}).describe(
  'Pipelines whose jobs have a duration metric by name: those of the default branch, all, or none. At most 200 names per project; further names share `*`.',
)

export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

const compression = oneOf(['gzip', 'none'])

const protocol = kind(line.pipe(z.literal('http/protobuf')), {
  noun: 'the protocol `http/protobuf`',
  remedy: 'Remove it, and use an OTLP/HTTP endpoint (port 4318 of a Collector): no other protocol is supported.',
})

/** Creates the settings for one signal, which override the settings for all signals. */
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

/** The OTLP settings for all signals. Signal-specific settings override them. */
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

export const observabilityOptions = {
  export: setting(noneOr(signals), {
    variable: { ofProfile: 'export' },
    spellings: ['PIPESPAN_OBSERVABILITY_EXPORT'],
    default: 'traces,metrics,logs',
  }).describe(
    'Enabled signals. With `none` nothing is exported, and no destination is needed: the pages show the pipelines.',
  ),
  token: secretSetting(secret, {
    variable: { ofProfile: 'token' },
    spellings: ['PIPESPAN_OBSERVABILITY_TOKEN'],
  }).describe('Bearer token of the `default` destination; replaces an `Authorization` header.'),
}

export const destinations = new Each(
  {
    name: setting(destinationName, { required: true }).describe('Unique name in logs and in the store; not `default`.'),
    endpoint: setting(httpUrl, { required: true }).describe(
      'Base URL; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended.',
    ),
    headers: secretSetting(headers, { protects: 'each' }).describe(
      'Headers of every request. `{platform}`, `{group}`, `{project.id}` and `{own.NAME}` are replaced with values of the project whose data is sent.',
    ),
    token: secretSetting(secret).describe('Bearer token.'),
    temporality: setting(temporality, { unset: '`otlp.metrics.temporality_preference`' }).describe(
      'Temporality of metrics.',
    ),
    projects: projectChoice(
      ' Data of other projects, and data that belongs to no project or group, is not sent to this destination.',
      {
        protects: true,
      },
    ),
    signals: setting(someOf(signals), { unset: '`observability.export`' }).describe(
      'Signals to send; signals that are not enabled are not sent.',
    ),
  },
  'OTLP backends in addition to the one in `otlp`, which is named `default`. A backend that is down does not delay the others.',
)

const count = integer({ min: 1, max: 1_000_000 })
const limit = integer({ min: 0, max: 1_000_000 })

export const sdkOptions = named('OTEL', {
  disabled: setting(boolean, { variable: 'OTEL_SDK_DISABLED', default: 'false' }).describe(
    "Do not export the daemon's own telemetry, whatever the value of `self.telemetry`.",
  ),
  metricExportInterval: setting(timeout, { default: '60s' }).describe(
    "How often the daemon's own metrics are sent; a plain number is milliseconds.",
  ),
  metricExportTimeout: setting(timeout, { unset: '30s, or the interval if that is shorter' }).describe(
    "Timeout of one export of the daemon's own metrics.",
  ),
  tracesSampler: setting(
    oneOf([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]),
    { unset: '`parentbased_always_on`' },
  ).describe("Which of the daemon's own traces are sent."),
  tracesSamplerArg: setting(ratio, { unset: '1' }).describe(
    "The share of the daemon's own traces that a `traceidratio` sampler sends.",
  ),
  bspScheduleDelay: setting(timeout, { unset: '5s' }).describe("How long the daemon's own spans wait for a batch."),
  bspExportTimeout: setting(timeout, { unset: '30s' }).describe("Timeout of one export of the daemon's own spans."),
  bspMaxQueueSize: setting(count, { unset: '2048' }).describe(
    "Maximum number of the daemon's own spans that wait to be sent; further spans are dropped.",
  ),
  bspMaxExportBatchSize: setting(count, { unset: '512' }).describe(
    "Maximum number of the daemon's own spans in one export.",
  ),
  attributeCountLimit: setting(limit, { spellings: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT'], unset: '128' }).describe(
    "Maximum number of attributes of each of the daemon's own spans.",
  ),
  attributeValueLengthLimit: setting(limit, { unset: 'unlimited' }).describe(
    "Maximum length of an attribute value of the daemon's own spans.",
  ),
  spanEventCountLimit: setting(limit, { unset: '128' }).describe(
    "Maximum number of events of each of the daemon's own spans.",
  ),
  spanLinkCountLimit: setting(limit, { unset: '128' }).describe(
    "Maximum number of links of each of the daemon's own spans.",
  ),
  eventAttributeCountLimit: setting(limit, { unset: '128' }).describe(
    "Maximum number of attributes of an event of the daemon's own spans.",
  ),
  linkAttributeCountLimit: setting(limit, { unset: '128' }).describe(
    "Maximum number of attributes of a link of the daemon's own spans.",
  ),
})

export const selfOptions = {
  telemetry: setting(boolean, { default: 'false' }).describe(
    "Export the daemon's own metrics and traces, with `service.name` `pipespan`.",
  ),
  otlpEndpoint: setting(httpUrl, {
    unset: 'the endpoints, headers and token of `otlp`',
    example: 'http://localhost:4318',
  }).describe(
    "Base URL of the OTLP backend for the daemon's own telemetry; `/v1/traces` and `/v1/metrics` are appended. The headers and the token of `otlp` are not sent to it.",
  ),
  sdk: sdkOptions,
}
