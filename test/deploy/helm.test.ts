// The chart, rendered by helm in each of its shapes and held against Kubernetes' own schemas and our promises.
import { describe, expect, it } from 'vitest'
import { hasTool, runTool } from './tool.ts'
import { manifestsIn, ofKind, podOf, schemaFaults, type Manifest } from './manifest.ts'
import { expectComplete, expectDaemon, expectHardened, expectKnownSettings } from './pod-promises.ts'
import { parseConfig } from './mounted-config.ts'

const hasHelm = hasTool('helm', ['version'], 'rendering deploy/helm')
const rotation = [
  '--set=tokenRotation.enabled=true',
  '--set=tokenRotation.observabilityUrl=https://observability.example.com',
  '--set=tokenRotation.otlpEndpoint=https://otlp.example.com',
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
    const [config] = ofKind(manifests, 'ConfigMap')
    expect(parseConfig((config?.data as Record<string, string>)['pipespan.yaml'] ?? '')).toMatchObject({ ok: true })
    if (!args.includes(besides)) expectHardened(manifests)
    for (const job of ofKind(manifests, 'CronJob')) podOf(job)?.containers.forEach(expectKnownSettings)
  })

  it('has the shapes of the overlays', () => {
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

  it('refuses values that it does not know, or that do not fit together', () => {
    expect(() => rendered('--set=stroe.kind=postgres')).toThrow('stroe')
    expect(() => rendered('--set=store.kind=mysql')).toThrow('store')
    expect(() => rendered('--set=store.kind=postgres', besides)).toThrow('one replica')
    expect(() => rendered('--set=tokenRotation.enabled=true')).toThrow('tokenRotation.observabilityUrl is needed')
  })
})
