// The options of where telemetry goes: the signals and the token of the first destination, the instance that manages its
// tokens, and more destinations.
import { destinationName, readableFile } from './plain-kinds.ts'
import { Each, secretSetting, setting } from './option.ts'
import { headers } from './pair-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { secret } from './secret-kinds.ts'
import { signals } from './otlp-options.ts'
import { someOf } from './list-kinds.ts'
import { temporality } from './metric-options.ts'

export const observabilityOptions = {
  export: setting(someOf(signals), {
    variable: { ofProfile: 'export' },
    default: 'traces,metrics,logs',
    says: 'The signals that are on.',
  }),
  token: secretSetting(secret, {
    variable: { ofProfile: 'token' },
    says: 'Bearer token of the `default` destination, in place of an `Authorization` among its headers.',
  }),
  url: setting(httpUrl, {
    variable: 'PIPESPAN_OBSERVABILITY_URL',
    says: 'The observability instance whose ingest tokens `pipespan tokens` and `pipespan enforcement` manage.',
    example: 'https://observability.example.com',
  }),
  apiKey: secretSetting(secret, {
    variable: 'PIPESPAN_OBSERVABILITY_API_KEY',
    says: 'Its API key, of an editor or an administrator.',
  }),
  caFile: setting(readableFile, {
    variable: 'PIPESPAN_OBSERVABILITY_CA_FILE',
    unset: "Node's own certificate authorities",
    says: 'PEM file of the authorities that its certificate is checked against.',
  }),
}

export const destinations = new Each(
  {
    name: setting(destinationName, {
      required: true,
      says: 'Its name in logs and in the store: unique, and not `default`.',
    }),
    endpoint: setting(httpUrl, {
      required: true,
      says: 'Base URL; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended.',
    }),
    headers: secretSetting(headers, { says: 'Headers of every request to it.' }),
    token: secretSetting(secret, { says: 'Its bearer token.' }),
    temporality: setting(temporality, {
      unset: '`otlp.metrics.temporality_preference`',
      says: 'Temporality of its metrics.',
    }),
    signals: setting(someOf(signals), {
      unset: '`observability.export`',
      says: 'The signals it takes, of those that are on.',
    }),
  },
  'More OTLP backends beside the one of `otlp`, which is named `default`. One that is down holds up no other.',
)
