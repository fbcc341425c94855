import { describe, expect, it } from 'vitest'
import { destinationsOf } from '../../../src/daemon/configuration/destinations.ts'
import { faultOf, fileWith, good } from './given.ts'
import type { Environment } from '../../../src/daemon/configuration/variables.ts'

/** Returns `name signal url` for each export target. */
function urls(env: Environment, yaml?: string): string[] {
  return destinationsOf(good(env, yaml).config).flatMap(({ name, targets }) =>
    Object.entries(targets).map(([signal, { url }]) => `${name} ${signal} ${url}`),
  )
}

const listed = 'destinations: [{ name: second, endpoint: https://two.example.com/otlp/, signals: [traces, logs] }]'

describe('endpoints according to the OpenTelemetry specification', () => {
  it.each([
    ['http://localhost:4318', {}],
    ['http://c:4318', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }],
    ['http://c:4318', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }],
    ['https://c/my/path', { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/my/path' }],
  ])("appends the signal's path to the general endpoint: %s", (base, env) => {
    expect(urls(env)).toEqual(['traces', 'metrics', 'logs'].map(signal => `default ${signal} ${base}/v1/${signal}`))
  })

  it('uses an endpoint that is set for one signal unchanged', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:4318/own' }
    expect(urls(env)).toEqual([
      'default traces http://t:4318/own',
      'default metrics http://c/v1/metrics',
      'default logs http://c/v1/logs',
    ])
  })

  it('creates targets for enabled signals only', () => {
    expect(urls({ SERVICE_OBSERVABILITY_EXPORT: 'logs' })).toEqual(['default logs http://localhost:4318/v1/logs'])
  })

  it('creates no target and warns if exports are off', () => {
    const env = { PIPESPAN_OBSERVABILITY_EXPORT: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }
    expect(urls(env)).toEqual([])
    expect(urls(env, listed)).toEqual([])
    expect(good(env).warnings).toContainEqual(
      faultOf('PIPESPAN_OBSERVABILITY_EXPORT', 'To export, name traces, metrics or logs.'),
    )
  })
})

describe('suspicious endpoints', () => {
  const doubled = (to: string, meant: string): string =>
    `The paths of the signals are appended to this URL: traces are sent to ${to}. Write ${meant}.`
  const unchanged = (meant: string): string =>
    `This URL is used unchanged: nothing is appended, and traces are usually sent to /v1/traces. Write ${meant}.`
  const grpc = (port: number): string =>
    `By its port ${port}, this is OTLP/gRPC; OTLP/HTTP usually listens at 4318. Use the port of OTLP/HTTP.`
  const general = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const own = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'

  const warningsOf = (env: Environment, yaml?: string): readonly string[] =>
    good({ PIPESPAN_WEBHOOK_TOKEN: 'x', ...env }, yaml).warnings

  it.each([
    [general, 'http://c:4318/v1/traces', doubled('http://c:4318/v1/traces/v1/traces', 'http://c:4318')],
    [general, 'http://c:4318/v1/metrics//', doubled('http://c:4318/v1/metrics/v1/traces', 'http://c:4318')],
    [general, 'https://c/otlp/V1/Logs?key=k', doubled('https://c/otlp/V1/Logs/v1/traces', 'https://c/otlp')],
    [general, 'https://c/v1/traces/v1/traces', doubled('https://c/v1/traces/v1/traces/v1/traces', 'https://c')],
    [general, 'https://c/v1', doubled('https://c/v1/v1/traces', 'https://c')],
    [general, 'http://c:4317', grpc(4317)],
    [general, 'https://c:14317/', grpc(14317)],
    ['PIPESPAN_SELF_OTLP_ENDPOINT', 'http://c/v1/traces', doubled('http://c/v1/traces/v1/traces', 'http://c')],
    [own, 'http://c:4318', unchanged('http://c:4318/v1/traces')],
    [own, 'http://c:4318/', unchanged('http://c:4318/v1/traces')],
    [own, 'http://c:4318/v1/traces/', unchanged('http://c:4318/v1/traces')],
    [own, 'http://c:4318/v1/metrics', unchanged('http://c:4318/v1/traces')],
    [own, 'http://c:4318/v1/traces/v1/traces', unchanged('http://c:4318/v1/traces')],
    [own, 'http://c:4318/otlp/v1', unchanged('http://c:4318/otlp/v1/traces')],
    [own, 'http://c:4317/v1/traces', grpc(4317)],
  ])('warns about a suspicious endpoint: %s=%s', (variable, url, warning) => {
    expect(warningsOf({ [variable]: url })).toEqual([`${variable}: ${warning}`])
  })

  it('reports where in the file a suspicious endpoint is set', () => {
    const yaml = 'destinations: [{ name: second, endpoint: "https://c/v1/logs", signals: [logs] }]'
    const warning = expect.stringMatching(/:1:\d+: destinations\[0\]\.endpoint: The paths of the signals/) as string
    expect(warningsOf({}, yaml)).toEqual([warning])
  })

  it.each([
    [general, 'http://c:4318/otlp/'],
    [general, 'https://c/v1/otlp'],
    [own, 'http://c:4318/v1/traces'],
    [own, 'https://c/api/v2/otlp/v1/traces?key=k'],
    [own, 'https://c/v2/trace/otlp'],
  ])('does not warn about a plausible endpoint: %s=%s', (variable, url) => {
    expect(warningsOf({ [variable]: url })).toEqual([])
  })

  it('removes all trailing slashes from a general endpoint', () => {
    expect(urls({ [general]: 'http://c/otlp//', SERVICE_OBSERVABILITY_EXPORT: 'logs' })).toEqual([
      'default logs http://c/otlp/v1/logs',
    ])
  })
})

describe('several destinations', () => {
  const second = [
    'second traces https://two.example.com/otlp/v1/traces',
    'second logs https://two.example.com/otlp/v1/logs',
  ]

  it('omits the default destination if it has no endpoint', () => {
    expect(urls({}, listed)).toEqual(second)
  })

  it('lists the default destination first if it has an endpoint', () => {
    expect(urls({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, listed)).toEqual([
      'default traces http://c/v1/traces',
      'default metrics http://c/v1/metrics',
      'default logs http://c/v1/logs',
      ...second,
    ])
  })

  it('gives the default destination only the signals that have an endpoint', () => {
    const env = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m/api' }
    expect(urls(env, listed)).toEqual(['default metrics http://m/api', ...second])
  })

  it('omits a destination without an enabled signal', () => {
    expect(urls({ SERVICE_OBSERVABILITY_EXPORT: 'metrics' }, listed)).toEqual([])
  })

  it("never sends the default destination's token and headers to other destinations", () => {
    const yaml = `${listed.replace(' }]', ', headers: { x-two: two }, token_file: ')}${fileWith('own', 'token')} }]`
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-one=one',
      SERVICE_OBSERVABILITY_TOKEN: 'abc',
    }
    const seen = destinationsOf(good(env, yaml).config).map(({ token, targets }) => [
      token.current()?.reveal(),
      ...(targets.traces?.headers() ?? []),
    ])
    expect(seen).toEqual([
      ['abc', ['x-one', expect.anything()]],
      ['own', ['x-two', expect.anything()]],
    ])
  })

  it('warns about an unused token', () => {
    const { warnings } = good({ SERVICE_OBSERVABILITY_TOKEN: 'abc', PIPESPAN_WEBHOOK_TOKEN: 'abc' }, listed)
    expect(warnings).toEqual([
      'SERVICE_OBSERVABILITY_TOKEN: observability.token is only sent to the destination "default", which does not exist. ' +
        'Set otlp.endpoint (OTEL_EXPORTER_OTLP_ENDPOINT), or give destinations their own token_file.',
    ])
  })
})

it("lets a signal's settings override the general settings, and its headers replace all general headers", () => {
  const { config } = good({
    OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
    OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '4000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'c=3',
    OTEL_EXPORTER_OTLP_CERTIFICATE: 'test/fixtures/tls/first.cert.pem',
    OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE: 'test/fixtures/tls/second.cert.pem',
  })
  const [only] = destinationsOf(config)
  const summary = [only?.targets.traces, only?.targets.logs].map(target => ({
    ...target,
    headers: [...(target?.headers() ?? [])].map(([name, value]) => `${name}=${value.reveal()}`),
  }))
  expect(summary).toMatchObject([
    {
      timeout: 3000,
      compression: 'none',
      headers: ['a=1', 'b=2'],
      tls: { certificate: 'test/fixtures/tls/first.cert.pem' },
    },
    { timeout: 4000, compression: 'gzip', headers: ['c=3'], tls: { certificate: 'test/fixtures/tls/second.cert.pem' } },
  ])
})
