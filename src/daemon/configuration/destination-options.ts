// The options of destinations: the signals, the token of the default destination, and more destinations.
import { projectChoice } from './choice-options.ts'
import { destinationName } from './plain-kinds.ts'
import { Each, secretSetting, setting } from './option.ts'
import { headers } from './pair-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { secret } from './secret-kinds.ts'
import { signals } from './otlp-options.ts'
import { noneOr, someOf } from './list-kinds.ts'
import { temporality } from './metric-options.ts'

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
      'Headers of every request. `{platform}`, `{group}`, `{project.id}` and `{own.NAME}` stand for values of the project that is sent.',
    ),
    token: secretSetting(secret).describe('Bearer token.'),
    temporality: setting(temporality, { unset: '`otlp.metrics.temporality_preference`' }).describe(
      'Temporality of metrics.',
    ),
    projects: projectChoice(' Others are not sent there, nor is what is about no project or group.', {
      protects: true,
    }),
    signals: setting(someOf(signals), { unset: '`observability.export`' }).describe(
      'Signals to send, from the enabled ones.',
    ),
  },
  'OTLP backends in addition to the one in `otlp`, which is named `default`. A backend that is down does not delay the others.',
)
