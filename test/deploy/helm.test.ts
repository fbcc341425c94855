// Renders the Helm chart in each of its variants, and checks it against Kubernetes' own schemas and our guarantees.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hasHelm, rendered, sidecar } from './helm-chart.ts'
import { ofKind, podLabelsOf, podOf, schemaFaults } from './manifest.ts'
import { repository, runTool } from './tool.ts'
import {
  expectComplete,
  expectDaemon,
  expectHardened,
  expectKnownSettings,
  expectNumberedPorts,
  expectOwnPodsSelected,
} from './pod-promises.ts'
import { givenIn, configurationIn, secretsOf } from './pod-environment.ts'
import { manifestOf } from '../../src/commands/setup/files.ts'
import { profiles, type ProfileName } from '../../src/daemon/profile.ts'

const rotation = [
  '--set=tokenRotation.enabled=true',
  '--set=tokenRotation.observabilityUrl=https://observability.example.com',
  '--set=tokenRotation.otlpEndpoint=https://otlp.example.com',
]
const platform = [
  '--set=platform.url=https://git.example.com',
  '--set=platform.existingSecret=pipespan',
  '--set=webhook.signingKey=signing-token',
]

describe.skipIf(!hasHelm)('the Helm chart', () => {
  it('passes helm lint', () => {
    expect(runTool('helm', ['lint', '--strict', 'deploy/helm/pipespan'])).toContain('0 chart(s) failed')
  })

  it.each([
    ['sqlite', []],
    ['postgres', ['--set=store.kind=postgres']],
    ['sidecar', [sidecar]],
    ['postgres with token rotation', ['--set=store.kind=postgres', ...rotation]],
    ['sqlite with token rotation', rotation],
  ])('renders valid and complete manifests with a daemon that starts (%s)', async (_name, args) => {
    const manifests = rendered(...args)
    expect(await schemaFaults(manifests)).toEqual([])
    expectComplete(manifests)
    const [deployment] = ofKind(manifests, 'Deployment')
    if (deployment !== undefined) expectDaemon(deployment)
    expectOwnPodsSelected(manifests)
    expectNumberedPorts(manifests)
    configurationIn(manifests, 'Deployment', 'generic')
    if (!args.includes(sidecar)) expectHardened(manifests)
    for (const job of ofKind(manifests, 'CronJob')) podOf(job)?.containers.forEach(expectKnownSettings)
  })

  it.each(Object.keys(profiles) as ProfileName[])(
    'configures the daemon without any ignored settings (profile %s)',
    profile => {
      const manifests = rendered(...platform, ...rotation, `--set=platform.profile=${profile}`)
      const { config } = configurationIn(manifests, 'Deployment', profile)
      expect(config.platform.url).toBe('https://git.example.com')
      expect(config.platform.token.current()).toBeDefined()
      expect(config.webhook.signingToken.current()).toBeDefined()
      expect(config.observability.token.current()).toBeDefined()
      expect(givenIn(configurationIn(manifests, 'CronJob', 'generic'))).toContain('observability.api_key')
    },
  )

  it('leaves the platform profile to the configuration if no chart value sets it', () => {
    configurationIn(rendered('--set=config.platform.profile=gitlab'), 'Deployment', 'gitlab')
  })

  it('supports the same deployments as the kustomize overlays', () => {
    expect(ofKind(rendered(), 'Deployment')[0]?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(ofKind(rendered(), 'HorizontalPodAutoscaler')).toEqual([])
    const scaled = rendered('--set=store.kind=postgres', ...rotation)
    expect(ofKind(scaled, 'HorizontalPodAutoscaler')).toHaveLength(1)
    expect(ofKind(scaled, 'PersistentVolumeClaim')).toEqual([])
    expect(ofKind(scaled, 'Role').map(({ rules }) => rules)).toEqual([
      [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['pipespan-ingest'], verbs: ['get', 'patch'] }],
    ])
    const [withSidecar] = ofKind(rendered(sidecar), 'Deployment')
    expect(withSidecar && podOf(withSidecar)?.initContainers).toMatchObject([
      { name: 'pipespan', restartPolicy: 'Always' },
    ])
  })

  const outside = [
    '--set=admin.enabled=true',
    '--set=ingress.enabled=true,ingress.host=hooks.example.com,ingress.tlsSecret=hooks-tls',
    '--set=ingress.admin.enabled=true,ingress.admin.host=pipespan.example.com',
    '--set-json=httpRoute={"enabled":true,"parentRefs":[{"name":"gateway"}],"hostnames":["hooks.example.com"]}',
    '--set=serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus',
    '--set=prometheusRule.enabled=true',
    '--set=dashboards.enabled=true',
  ]

  it.each([
    ['the Secret of the webhook', []],
    ['a Secret of its own', ['--set=admin.existingSecret=pipespan-admin']],
  ])('opens the admin port with the token from %s', (_name, args) => {
    const manifests = rendered('--set=admin.enabled=true', ...args)
    const secrets = {
      pipespan: { 'webhook-token': 'a-token', 'admin-token': 'a-long-admin-token' },
      'pipespan-admin': { 'admin-token': 'a-long-admin-token' },
    }
    const { config } = configurationIn(manifests, 'Deployment', 'generic', secrets)
    expect(config.admin.token.current()?.reveal()).toBe('a-long-admin-token')
    expect(ofKind(manifests, 'Service')[0]?.spec).toMatchObject({
      ports: [{ name: 'http' }, { name: 'admin', port: 8081 }],
    })
    expect(ofKind(manifests, 'NetworkPolicy')[0]?.spec).toMatchObject({
      ingress: [{ ports: [{ port: 8080 }, { port: 8081 }] }],
    })
  })

  it('exposes the webhook port and the admin port through separate ingresses, and adds a ServiceMonitor', async () => {
    const manifests = rendered(...outside)
    expect(await schemaFaults(manifests)).toEqual([])
    const paths = ofKind(manifests, 'Ingress').map(({ spec }) => JSON.stringify(spec?.rules))
    expect(paths).toEqual([expect.stringContaining('"path":"/"'), expect.stringContaining('"path":"/webhooks"')])
    expect(paths[0]).toContain('"name":"admin"')
    expect(ofKind(manifests, 'HTTPRoute')).toHaveLength(1)
    expect(ofKind(manifests, 'ServiceMonitor')[0]?.metadata.labels).toMatchObject({ release: 'prometheus' })
    const { config } = configurationIn(manifests, 'Deployment', 'generic')
    expect(config.trustProxy).toBe(true)
  })

  it('ships the same alerts and dashboards as deploy/', () => {
    const manifests = rendered(...outside)
    const alerts: unknown = parse(readFileSync(path.join(repository, 'deploy/prometheus/alerts.yml'), 'utf8'))
    expect(ofKind(manifests, 'PrometheusRule')[0]?.spec).toEqual(alerts)
    const dashboards = ofKind(manifests, 'ConfigMap').filter(
      ({ metadata }) => metadata.labels?.grafana_dashboard === '1',
    )
    expect(dashboards).toHaveLength(3)
    for (const { data } of dashboards) {
      const [[name, text] = ['', '']] = Object.entries(data as Record<string, string>)
      const file = path.join(repository, 'deploy/grafana', name.replace('pipespan-', ''))
      expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(file, 'utf8')))
    }
  })

  it('links each alert to its section in the published runbook', async () => {
    const url = 'https://wiki.example.com/pipespan/runbook'
    const manifests = rendered(...outside, `--set=prometheusRule.runbookUrl=${url}`)
    expect(await schemaFaults(manifests)).toEqual([])
    const { groups } = ofKind(manifests, 'PrometheusRule')[0]?.spec as {
      groups: { rules: { alert: string; annotations: Record<string, string> }[] }[]
    }
    for (const { alert, annotations } of groups.flatMap(({ rules }) => rules)) {
      expect(annotations).toMatchObject({ runbook_url: `${url}#${alert.toLowerCase()}` })
      expect(annotations).not.toHaveProperty('runbook')
    }
    expect(() => rendered('--set=prometheusRule.runbookUrl=docs/runbook.md')).toThrow('runbookUrl')
  })

  it('accepts volumes, variables and claims that the operator defines', async () => {
    const manifests = rendered(
      '--set=store.sqlite.existingClaim=data,priorityClassName=high,serviceAccount.annotations.role=reader',
      '--set-json=envFrom=[{"secretRef":{"name":"more"}}]',
      '--set-json=extraVolumes=[{"name":"ca","configMap":{"name":"ca"}}]',
      '--set-json=extraVolumeMounts=[{"name":"ca","mountPath":"/etc/ca","readOnly":true}]',
    )
    expect(await schemaFaults(manifests)).toEqual([])
    expect(ofKind(manifests, 'PersistentVolumeClaim')).toEqual([])
    const [deployment] = ofKind(manifests, 'Deployment')
    expect(deployment && podOf(deployment)).toMatchObject({
      priorityClassName: 'high',
      containers: [{ envFrom: [{ secretRef: { name: 'more' } }] }],
    })
    expect(JSON.stringify(deployment)).toContain('"claimName":"data"')
  })

  it("gives the rotation job the same proxy, certificates, placement and labels as the daemon's pods", async () => {
    const manifests = rendered(
      ...rotation,
      '--set=priorityClassName=high,nodeSelector.pool=ci,podLabels.team=platform,podAnnotations.audit=yes',
      '--set-json=env=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"},{"name":"PIPESPAN_OBSERVABILITY_URL","value":"https://x.test"}]',
      '--set-json=envFrom=[{"secretRef":{"name":"more"}}]',
      '--set-json=tolerations=[{"key":"ci","operator":"Exists"}]',
      '--set-json=affinity={"nodeAffinity":{}}',
      '--set-json=extraVolumes=[{"name":"ca","configMap":{"name":"ca"}}]',
      '--set-json=extraVolumeMounts=[{"name":"ca","mountPath":"/etc/ca","readOnly":true}]',
    )
    expect(await schemaFaults(manifests)).toEqual([])
    expectOwnPodsSelected(manifests)
    const [job] = ofKind(manifests, 'CronJob')
    const pod = job && podOf(job)
    expect(pod).toMatchObject({
      priorityClassName: 'high',
      nodeSelector: { pool: 'ci' },
      tolerations: [{ key: 'ci' }],
      affinity: { nodeAffinity: {} },
      containers: [{ envFrom: [{ secretRef: { name: 'more' } }] }],
    })
    expect(pod?.volumes).toContainEqual({ name: 'ca', configMap: { name: 'ca' } })
    const { env = [], volumeMounts } = pod?.containers[0] ?? {}
    expect(volumeMounts).toContainEqual({ name: 'ca', mountPath: '/etc/ca', readOnly: true })
    expect(env).toContainEqual({ name: 'HTTPS_PROXY', value: 'http://proxy:3128' })
    // Each variable that the rotation job itself sets occurs only once, even if the chart's values set it too.
    expect(env.map(({ name }) => name)).toEqual([...new Set(env.map(({ name }) => name))])
    for (const manifest of ofKind(manifests, 'Deployment').concat(job ?? []))
      expect(podLabelsOf(manifest)).toMatchObject({ team: 'platform', 'app.kubernetes.io/instance': 'ci' })
    expect(job?.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' })
  })

  it('works with the Secrets that `pipespan setup` writes', () => {
    const secrets = secretsOf(
      manifestOf('ci', { webhook: 'a-webhook-token', platform: 'an-api-token', ingest: 'a-token' }),
    )
    const { config } = configurationIn(rendered(...platform.slice(0, 2), ...rotation), 'Deployment', 'generic', secrets)
    expect(config.webhook.token.current()?.[0]?.reveal()).toBe('a-webhook-token')
    expect(config.platform.token.current()?.reveal()).toBe('an-api-token')
    expect(config.observability.token.current()?.reveal()).toBe('a-token')
  })

  it('uses HTTPS for the probes of a daemon that serves HTTPS', () => {
    const tls = ['--set=config.tls.cert_file=/etc/tls/tls.crt', '--set=config.tls.key_file=/etc/tls/tls.key']
    const probes = (args: readonly string[]): unknown[] => {
      const [deployment] = ofKind(rendered(...args), 'Deployment')
      const daemon = deployment && podOf(deployment)?.containers[0]
      return [daemon?.startupProbe, daemon?.livenessProbe, daemon?.readinessProbe]
    }
    for (const probe of probes(tls)) expect(probe).toMatchObject({ httpGet: { scheme: 'HTTPS' } })
    for (const probe of probes([])) expect(JSON.stringify(probe)).not.toContain('scheme')
    expect(() => rendered(tls[0] ?? '')).toThrow('both cert_file and key_file')
  })

  it('publishes every route under the configured base path', () => {
    const manifests = rendered(
      ...outside,
      '--set=config.base_path=/ci/pipespan/',
      '--set=httpRoute.admin.enabled=false',
    )
    const paths = ofKind(manifests, 'Ingress').map(({ spec }) => JSON.stringify(spec?.rules))
    expect(paths).toEqual([
      expect.stringContaining('"path":"/ci/pipespan"'),
      expect.stringContaining('"path":"/ci/pipespan/webhooks"'),
    ])
    expect(JSON.stringify(ofKind(manifests, 'HTTPRoute')[0]?.spec)).toContain('"value":"/ci/pipespan/webhooks"')
    expect(JSON.stringify(ofKind(manifests, 'ServiceMonitor')[0]?.spec)).toContain('"path":"/ci/pipespan/metrics"')
  })

  it('points out in the Helm notes that the volume claim is kept', () => {
    const notes = (...args: string[]): string =>
      runTool('helm', ['install', 'ci', 'deploy/helm/pipespan', '--dry-run=client', ...args]).split('NOTES:')[1] ?? ''
    expect(notes()).toContain('ci-pipespan-data is kept')
    expect(notes('--set=store.kind=postgres')).not.toContain('is kept')
  })
})
