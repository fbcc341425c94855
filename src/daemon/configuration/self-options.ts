// The options of the daemon's own telemetry. Those of `sdk` have the names of the OpenTelemetry specification ("Environment Variable
// Specification"); the SDK gets no other variables.
import { boolean, integer, oneOf, ratio, timeout } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { setting } from './option.ts'

const count = integer({ min: 1, max: 1_000_000 })
const limit = integer({ min: 0, max: 1_000_000 })

export const sdkOptions = {
  disabled: setting(boolean, {
    variable: 'OTEL_SDK_DISABLED',
    default: 'false',
    description: "Export no telemetry of the daemon's own, whatever `self.telemetry` says.",
  }),
  metricExportInterval: setting(timeout, {
    variable: 'OTEL_METRIC_EXPORT_INTERVAL',
    default: '60s',
    description: 'How often its metrics are sent; a plain number is milliseconds.',
  }),
  metricExportTimeout: setting(timeout, {
    variable: 'OTEL_METRIC_EXPORT_TIMEOUT',
    unset: '30s, or the interval if that is shorter',
    description: 'Timeout of one export of its metrics.',
  }),
  tracesSampler: setting(
    oneOf([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]),
    {
      variable: 'OTEL_TRACES_SAMPLER',
      unset: '`parentbased_always_on`',
      description: 'Which of its traces are sent.',
    },
  ),
  tracesSamplerArg: setting(ratio, {
    variable: 'OTEL_TRACES_SAMPLER_ARG',
    unset: '1',
    description: 'The share of its traces that a `traceidratio` sampler keeps.',
  }),
  bspScheduleDelay: setting(timeout, {
    variable: 'OTEL_BSP_SCHEDULE_DELAY',
    unset: '5s',
    description: 'How long its spans wait for a batch.',
  }),
  bspExportTimeout: setting(timeout, {
    variable: 'OTEL_BSP_EXPORT_TIMEOUT',
    unset: '30s',
    description: 'Timeout of one export of its spans.',
  }),
  bspMaxQueueSize: setting(count, {
    variable: 'OTEL_BSP_MAX_QUEUE_SIZE',
    unset: '2048',
    description: 'How many of its spans may wait; further ones are dropped.',
  }),
  bspMaxExportBatchSize: setting(count, {
    variable: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    unset: '512',
    description: 'How many of its spans are sent at once.',
  }),
  attributeCountLimit: setting(limit, {
    variable: 'OTEL_ATTRIBUTE_COUNT_LIMIT',
    spellings: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT'],
    unset: '128',
    description: 'Maximum number of attributes of one of its spans.',
  }),
  attributeValueLengthLimit: setting(limit, {
    variable: 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    unset: 'unlimited',
    description: 'Maximum length of a value of these attributes.',
  }),
  spanEventCountLimit: setting(limit, {
    variable: 'OTEL_SPAN_EVENT_COUNT_LIMIT',
    unset: '128',
    description: 'Maximum number of events of one of its spans.',
  }),
  spanLinkCountLimit: setting(limit, {
    variable: 'OTEL_SPAN_LINK_COUNT_LIMIT',
    unset: '128',
    description: 'Maximum number of links of one of its spans.',
  }),
  eventAttributeCountLimit: setting(limit, {
    variable: 'OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT',
    unset: '128',
    description: 'Maximum number of attributes of such an event.',
  }),
  linkAttributeCountLimit: setting(limit, {
    variable: 'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT',
    unset: '128',
    description: 'Maximum number of attributes of such a link.',
  }),
}

export const selfOptions = {
  telemetry: setting(boolean, {
    variable: 'PIPESPAN_SELF_TELEMETRY',
    default: 'false',
    description: "Export the daemon's own metrics and traces, with `service.name` `pipespan`.",
  }),
  otlpEndpoint: setting(httpUrl, {
    variable: 'PIPESPAN_SELF_OTLP_ENDPOINT',
    unset: 'the endpoints, headers and token of `otlp`',
    description:
      "Base URL of the OTLP backend for the daemon's own telemetry; `/v1/traces` and `/v1/metrics` are appended. No headers or token of `otlp` are sent there.",
    example: 'http://localhost:4318',
  }),
  sdk: sdkOptions,
}
