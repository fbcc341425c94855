// The options of the daemon's own telemetry. Those of `sdk` have the names of the OpenTelemetry specification ("Environment Variable
// Specification"); the SDK gets no other variables.
import { boolean, integer, oneOf, ratio, timeout } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { named, setting } from './option.ts'

const count = integer({ min: 1, max: 1_000_000 })
const limit = integer({ min: 0, max: 1_000_000 })

export const sdkOptions = named('OTEL', {
  disabled: setting(boolean, { variable: 'OTEL_SDK_DISABLED', default: 'false' }).describe(
    "Export no telemetry of the daemon's own, whatever `self.telemetry` says.",
  ),
  metricExportInterval: setting(timeout, { default: '60s' }).describe(
    'How often its metrics are sent; a plain number is milliseconds.',
  ),
  metricExportTimeout: setting(timeout, { unset: '30s, or the interval if that is shorter' }).describe(
    'Timeout of one export of its metrics.',
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
  ).describe('Which of its traces are sent.'),
  tracesSamplerArg: setting(ratio, { unset: '1' }).describe(
    'The share of its traces that a `traceidratio` sampler keeps.',
  ),
  bspScheduleDelay: setting(timeout, { unset: '5s' }).describe('How long its spans wait for a batch.'),
  bspExportTimeout: setting(timeout, { unset: '30s' }).describe('Timeout of one export of its spans.'),
  bspMaxQueueSize: setting(count, { unset: '2048' }).describe(
    'How many of its spans may wait; further ones are dropped.',
  ),
  bspMaxExportBatchSize: setting(count, { unset: '512' }).describe('How many of its spans are sent at once.'),
  attributeCountLimit: setting(limit, { spellings: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT'], unset: '128' }).describe(
    'Maximum number of attributes of one of its spans.',
  ),
  attributeValueLengthLimit: setting(limit, { unset: 'unlimited' }).describe(
    'Maximum length of a value of these attributes.',
  ),
  spanEventCountLimit: setting(limit, { unset: '128' }).describe('Maximum number of events of one of its spans.'),
  spanLinkCountLimit: setting(limit, { unset: '128' }).describe('Maximum number of links of one of its spans.'),
  eventAttributeCountLimit: setting(limit, { unset: '128' }).describe('Maximum number of attributes of such an event.'),
  linkAttributeCountLimit: setting(limit, { unset: '128' }).describe('Maximum number of attributes of such a link.'),
})

export const selfOptions = {
  telemetry: setting(boolean, { default: 'false' }).describe(
    "Export the daemon's own metrics and traces, with `service.name` `pipespan`.",
  ),
  otlpEndpoint: setting(httpUrl, {
    unset: 'the endpoints, headers and token of `otlp`',
    example: 'http://localhost:4318',
  }).describe(
    "Base URL of the OTLP backend for the daemon's own telemetry; `/v1/traces` and `/v1/metrics` are appended. No headers or token of `otlp` are sent there.",
  ),
  sdk: sdkOptions,
}
