// The chart, rendered by helm in each of its shapes and held against Kubernetes' own schemas and our promises.
import { describe, expect, it } from 'vitest'
import { hasTool, runTool } from './tool.ts'
import { manifestsIn, ofKind, podOf, schemaFaults, type Manifest } from './manifest.ts'
import {
  expectComplete,
  expectDaemon,
  expectHardened,
  expectKnownSettings,
  expectOwnPodsSelected,
} from './pod-promises.ts'
import { configurationIn } from './pod-environment.ts'
import { profiles, type ProfileName } from '../../src/app/profile.ts'

const hasHelm = hasTool('helm', ['version'], 'rendering deploy/helm')
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
const besides = '--set-json=sidecar.containers=[{"name":"collector","image":"collector:1.0.0"}]'

function rendered(...args: readonly string[]): Manifest[] {
  return manifestsIn(runTool('helm', ['template', 'ci', 'deploy/helm/pipespan', '--namespace=observability', ...args]))
}

describe.skipIf(!hasHelm)('the chart', () => {
  it('passes helm lint', () => {
    expect(runTool('helm', ['lint', '--strict', 'deploy/helm/pipespan'])).toContain('0 chart(s) failed')
  })

  it.each([
    ['sqlite', []],
    ['postgres', ['--set=store.kind=postgres']],
    ['sidecar', [besides]],
    ['postgres with token rotation', ['--set=store.kind=postgres', ...rotation]],
    ['sqlite with token rotation', rotation],
  ])('is valid and complete, with a daemon that starts (%s)', async (_name, args) => {
    const manifests = rendered(...args)
    expect(await schemaFaults(manifests)).toEqual([])
    expectComplete(manifests)
    const [deployment] = ofKind(manifests, 'Deployment')
    if (deployment !== undefined) expectDaemon(deployment)
    expectOwnPodsSelected(manifests)
    configurationIn(manifests, 'Deployment', 'generic')
    if (!args.includes(besides)) expectHardened(manifests)
    for (const job of ofKind(manifests, 'CronJob')) podOf(job)?.containers.forEach(expectKnownSettings)
  })

  it.each(Object.keys(profiles) as ProfileName[])(
    'gives the daemon a configuration without ignored settings (profile %s)',
    profile => {
      const manifests = rendered(...platform, ...rotation, `--set=platform.profile=${profile}`)
      const { config } = configurationIn(manifests, 'Deployment', profile)
      expect(config.platform.url).toBe('https://git.example.com')
      expect(config.platform.token.current()).toBeDefined()
      expect(config.webhook.signingToken.current()).toBeDefined()
      expect(config.observability.token.current()).toBeDefined()
      expect(configurationIn(manifests, 'CronJob', 'generic').config.observability.apiKey.current()).toBeDefined()
    },
  )

  it('leaves the profile to the configuration if no value sets it', () => {
    configurationIn(rendered('--set=config.platform.profile=gitlab'), 'Deployment', 'gitlab')
  })

  it('covers the same deployments as the overlays', () => {
    expect(ofKind(rendered(), 'Deployment')[0]?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(ofKind(rendered(), 'HorizontalPodAutoscaler')).toEqual([])
    const scaled = rendered('--set=store.kind=postgres', ...rotation)
    expect(ofKind(scaled, 'HorizontalPodAutoscaler')).toHaveLength(1)
    expect(ofKind(scaled, 'PersistentVolumeClaim')).toEqual([])
    expect(ofKind(scaled, 'Role').map(({ rules }) => rules)).toEqual([
      [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['pipespan-ingest'], verbs: ['get', 'patch'] }],
    ])
    const [beside] = ofKind(rendered(besides), 'Deployment')
    expect(beside && podOf(beside)?.initContainers).toMatchObject([{ name: 'pipespan', restartPolicy: 'Always' }])
  })

  it('refuses unknown values, and values that contradict each other', () => {
    expect(() => rendered('--set=stroe.kind=postgres')).toThrow('stroe')
    expect(() => rendered('--set=store.kind=mysql')).toThrow('store')
    expect(() => rendered('--set=store.kind=postgres', besides)).toThrow('one replica')
    expect(() => rendered('--set=tokenRotation.enabled=true')).toThrow('tokenRotation.observabilityUrl is needed')
    expect(() => rendered('--set=platform.existingSecret=pipespan')).toThrow('needs platform.url')
    expect(() => rendered('--set=platform.profile=gitlub')).toThrow('profile')
  })
})
