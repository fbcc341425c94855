// Tests warnings about environment variables, and the variable names of profiles.
import { describe, expect, it } from 'vitest'
import { faultOf, fileWith, good } from './given.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const noSecret: unknown = faultOf('webhook.token', 'Set webhook.signing_token or webhook.token.')

describe('environment variables', () => {
  it.each([
    ['PIPESPAN_SETLE', 'PIPESPAN_SETLE: Unknown variable. Did you mean PIPESPAN_SETTLE?'],
    ['PIPESPAN_PORT', 'PIPESPAN_PORT: Unknown variable. Remove it; config/REFERENCE.md lists all variables.'],
    ['PIPESPAN_WEBHOOK_TOKENS', 'PIPESPAN_WEBHOOK_TOKENS: Unknown variable. Did you mean PIPESPAN_WEBHOOK_TOKEN?'],
    [
      'PIPESPAN_XYZZY_FROBNICATE',
      'PIPESPAN_XYZZY_FROBNICATE: Unknown variable. Remove it; config/REFERENCE.md lists all variables.',
    ],
  ])('warns about an unknown variable: %s', (name, warning) => {
    const { warnings } = good({ [name]: '9090', PIPESPAN_WEBHOOK_TOKEN: 'abc' })
    expect(warnings).toEqual([warning])
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_TRACE_ENDPOINT', 'Did you mean OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?'],
    ['OTEL_EXPORTER_OTLP_HEADER', 'Did you mean OTEL_EXPORTER_OTLP_HEADERS?'],
    ['OTEL_EXPORTER_OTLP_URL', 'config/REFERENCE.md lists all variables.'],
    ['OTEL_EXPORTER_OLTP_ENDPOINT', 'Did you mean OTEL_EXPORTER_OTLP_ENDPOINT?'],
    ['OTEL_SERVICE_NAMES', 'Did you mean OTEL_SERVICE_NAME?'],
    ['OTEL_RESOURCE_ATTRIBUTE', 'Did you mean OTEL_RESOURCE_ATTRIBUTES?'],
  ])('warns about a mistyped OpenTelemetry variable: %s', (name, remedy) => {
    const { warnings } = good({ [name]: 'x', PIPESPAN_WEBHOOK_TOKEN: 'abc' })
    expect(warnings).toEqual([`${name}: Unknown variable. ${remedy}`])
  })

  it('does not warn about variables that are blank or belong to other programs', () => {
    const others = {
      ...{ PIPE: '1', OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_SDK_DISABLED: 'true', OTEL_TRACES_SAMPLER: 'always_on' },
      ...{ OTEL_EXPORTER_OTLP_INSECURE: 'true', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '9', OTEL_METRICS_EXPORTER: 'otlp' },
      ...{ OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION: 'x', OTEL_NODE_RESOURCE_DETECTORS: 'none' },
    }
    expect(good({ PIPESPAN_SETLE: ' ', OTEL_EXPORTER_OTLP_HEADER: ' ', ...others }).warnings).toEqual([noSecret])
  })

  it('warns about variables that the self-telemetry SDK ignores, if self-telemetry is on', () => {
    const ofOthers = { OTEL_EXPORTER_OTLP_INSECURE: 'true', OTEL_METRICS_EXPORTER: 'otlp' }
    const env = { PIPESPAN_WEBHOOK_TOKEN: 'abc', OTEL_TRACES_EXPORTER: 'none', ...ofOthers }
    expect(good(env).warnings).toEqual([])
    expect(good({ ...env, PIPESPAN_SELF_TELEMETRY: 'true' }).warnings).toEqual([
      "OTEL_TRACES_EXPORTER: Not used for the daemon's own telemetry. Remove it; config/REFERENCE.md lists all variables.",
    ])
  })

  it('warns if a setting exceeds another setting that limits it, and names both variables', () => {
    const env = { PIPESPAN_WEBHOOK_TOKEN: 'abc', OTEL_METRIC_EXPORT_INTERVAL: '15000' }
    expect(good(env).warnings).toEqual([])
    expect(good({ ...env, OTEL_METRIC_EXPORT_TIMEOUT: '20000' }).warnings).toEqual([
      faultOf('OTEL_METRIC_EXPORT_TIMEOUT', 'Lower it, or raise OTEL_METRIC_EXPORT_INTERVAL.'),
    ])
  })

  it('warns once about all Kubernetes service link variables', () => {
    const { warnings } = good({
      PIPESPAN_WEBHOOK_TOKEN: 'abc',
      PIPESPAN_SERVICE_HOST: '10.0.0.1',
      PIPESPAN_SERVICE_PORT_HTTP: '8080',
      PIPESPAN_PORT: 'tcp://10.0.0.1:8080',
      PIPESPAN_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      PIPESPAN_ADMIN_PORT_8081_TCP_ADDR: '10.0.0.1',
    })
    expect(warnings).toEqual([
      'PIPESPAN_ADMIN_PORT_8081_TCP_ADDR, PIPESPAN_PORT, PIPESPAN_PORT_8080_TCP, PIPESPAN_SERVICE_HOST, ' +
        'PIPESPAN_SERVICE_PORT_HTTP: Kubernetes service links, which are not settings. ' +
        'Set enableServiceLinks: false to remove them.',
    ])
  })

  it.each([
    [{ PIPESPAN_PLATFORM_PROFILE: 'gitlab' }, undefined],
    [{}, 'platform: { profile: gitlab }'],
  ])("uses the variable names of the platform's profile, however the profile is set: %j", (env, yaml) => {
    const { config } = good({ ...env, GITLAB_OBSERVABILITY_EXPORT: 'logs', GITLAB_OBSERVABILITY_TOKEN: 'abc' }, yaml)
    expect(config.platform.profile).toBe('gitlab')
    expect(config.observability.export).toEqual(['logs'])
    expect(config.observability.token.current()?.reveal()).toBe('abc')
  })

  it.each(Object.keys(profiles))(
    'supports the generic names of the export variables in every profile (%s)',
    profile => {
      const env = { PIPESPAN_PLATFORM_PROFILE: profile, PIPESPAN_WEBHOOK_TOKEN: 'abc' }
      const token = fileWith('of-a-file', 'token')
      const { config, warnings } = good({
        ...env,
        PIPESPAN_OBSERVABILITY_EXPORT: 'logs',
        PIPESPAN_OBSERVABILITY_TOKEN_FILE: token,
      })
      expect(warnings).toEqual([])
      expect(config.observability.export).toEqual(['logs'])
      expect(config.observability.token.current()?.reveal()).toBe('of-a-file')
    },
  )

  it('warns about a variable that is overridden by another name of the same setting', () => {
    const env = { PIPESPAN_WEBHOOK_TOKEN: 'abc', SERVICE_OBSERVABILITY_TOKEN: 'one', https_proxy: 'http://same:1' }
    const { config, warnings } = good({ ...env, PIPESPAN_OBSERVABILITY_TOKEN: 'two', HTTPS_PROXY: 'http://same:1' })
    expect(config.observability.token.current()?.reveal()).toBe('two')
    expect(warnings).toEqual([faultOf('SERVICE_OBSERVABILITY_TOKEN', 'Keep one of the two.')])
  })

  it("ignores another profile's variables with a warning that names the profile", () => {
    const { config, warnings } = good({ GITLAB_OBSERVABILITY_EXPORT: 'logs', PIPESPAN_WEBHOOK_TOKEN: 'abc' })
    expect(config.observability.export).toHaveLength(3)
    expect(warnings).toEqual([
      faultOf(
        'GITLAB_OBSERVABILITY_EXPORT',
        'Set PIPESPAN_PLATFORM_PROFILE=gitlab, or use SERVICE_OBSERVABILITY_EXPORT.',
      ),
    ])
  })
})
