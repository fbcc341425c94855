// Tests which values the Helm chart rejects: unknown and contradictory values, secrets in clear text, and settings that it would ignore.
import { describe, expect, it } from 'vitest'
import { hasHelm, rendered, sidecar } from './helm-chart.ts'

describe.skipIf(!hasHelm)('the values of the Helm chart', () => {
  it("validates `config` against the configuration's schema", () => {
    expect(() => rendered('--set=config.pol.interval=1m')).toThrow('pol')
    expect(() => rendered('--set=config.poll.interval=soon')).toThrow('interval')
    expect(() => rendered('--set-json=config.destinations=[{"name":"two words","endpoint":"https://x.test"}]')).toThrow(
      'name',
    )
    rendered('--set=config.poll.interval=1m', '--set-json=config.poll.projects=["team/shop"]')
  })

  it.each([
    ['webhook.token', 'webhook.existingSecret'],
    ['webhook.signing_token', 'webhook.signingKey'],
    ['platform.token', 'platform.existingSecret'],
    ['admin.token', 'admin.existingSecret'],
    ['observability.token', 'tokenRotation.existingSecret'],
    ['observability.api_key', 'tokenRotation.apiKeySecret'],
  ])('rejects the secret %s in `config`, and names the value to use instead: %s', (path, value) => {
    expect(() => rendered(`--set=config.${path}=clear`)).toThrow(value)
  })

  it('rejects secrets in the lists of `config`', () => {
    const platforms = [{ name: 'a', url: 'https://a.test', tokens: [{ groups: ['x'], token: 'clear' }] }]
    expect(() => rendered(`--set-json=config.platforms=${JSON.stringify(platforms)}`)).toThrow('token_file')
    const destinations = [{ name: 'a', endpoint: 'https://a.test', headers: { authorization: 'clear' } }]
    expect(() => rendered(`--set-json=config.destinations=${JSON.stringify(destinations)}`)).toThrow('headers_file')
  })

  it.each([
    [['--set=config.store.url=sqlite:/x.db'], 'store.kind'],
    [['--set=config.listen=127.0.0.1:1'], 'service.port'],
    [['--set=config.admin.listen=127.0.0.1:1'], 'admin.enabled'],
    [['--set=config.platform.profile=gitlab,platform.profile=generic'], 'config.platform.profile is ignored'],
    [['--set=config.trust_proxy=false,ingress.enabled=true,ingress.host=a.test'], 'config.trust_proxy is ignored'],
    [['--set-json=env=[{"name":"PIPESPAN_STORE_URL","value":"sqlite:x"}]'], 'PIPESPAN_STORE_URL'],
    [['--set-json=podLabels={"app.kubernetes.io/name":"x"}'], 'podLabels'],
  ])('rejects settings that the chart would ignore: %s', (args, message) => {
    expect(() => rendered(...args)).toThrow(message)
  })

  it('rejects unknown values, and values that contradict each other', () => {
    expect(() => rendered('--set=stroe.kind=postgres')).toThrow('stroe')
    expect(() => rendered('--set=store.kind=mysql')).toThrow('store')
    expect(() => rendered('--set=store.kind=postgres', sidecar)).toThrow('one replica')
    expect(() => rendered('--set=tokenRotation.enabled=true')).toThrow('tokenRotation.observabilityUrl is needed')
    expect(() => rendered('--set=platform.existingSecret=pipespan')).toThrow('needs platform.url')
    expect(() => rendered('--set=platform.profile=gitlub')).toThrow('profile')
    expect(() => rendered('--set=serviceMonitor.enabled=true')).toThrow('need admin.enabled')
    expect(() => rendered('--set=ingress.enabled=true')).toThrow('the host for webhooks is needed')
    expect(() => rendered('--set=httpRoute.enabled=true')).toThrow('parentRefs and hostnames for webhooks are needed')
    expect(() => rendered('--set=store.kind=postgres,autoscaling.maxReplicas=12')).toThrow(
      'needs up to 104 connections',
    )
    rendered('--set=store.kind=postgres,autoscaling.maxReplicas=11')
    rendered('--set=store.kind=postgres,autoscaling.maxReplicas=12,store.postgres.maxConnections=0')
  })
})
