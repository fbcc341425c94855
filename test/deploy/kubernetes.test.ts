// Builds the kustomize overlays with kubectl, and checks them against Kubernetes' own schemas and our guarantees.
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hasTool, repository, runTool } from './tool.ts'
import { manifestsIn, ofKind, podOf, schemaFaults, type Manifest } from './manifest.ts'
import {
  expectComplete,
  expectDaemon,
  expectHardened,
  expectKnownSettings,
  expectNumberedPorts,
  expectOwnPodsSelected,
} from './pod-promises.ts'
import { connectionsPerDaemon } from '../../src/core/store/postgres/connection-room.ts'
import { knownVariables } from './known-variables.ts'
import { manifestOf } from '../../src/commands/setup/files.ts'
import { givenIn, configurationIn, secretsOf } from './pod-environment.ts'
import { profiles, type ProfileName } from '../../src/daemon/profile.ts'

const overlays = ['single', 'scaled', 'sidecar', 'token-rotation', 'runner']
const hasKubectl = hasTool('kubectl', ['kustomize', '--help'], 'building the overlays of deploy/kubernetes')

const known = new Map<string, Manifest[]>()

/** Returns an overlay as built by kubectl. Each overlay is built only once and then cached. */
function built(overlay: string): Manifest[] {
  const manifests =
    known.get(overlay) ?? manifestsIn(runTool('kubectl', ['kustomize', `deploy/kubernetes/overlays/${overlay}`]))
  known.set(overlay, manifests)
  return manifests
}

const profileNames = Object.keys(profiles) as ProfileName[]

/** Returns the manifests after the operator has set this profile in pipespan.yaml and has made signatures required. */
function edited(manifests: readonly Manifest[], profile: ProfileName): Manifest[] {
  const text = JSON.stringify(manifests)
  return JSON.parse(
    text.replace('profile: generic', `profile: ${profile}`).replace('# webhook:', 'webhook:'),
  ) as Manifest[]
}

describe('the Kubernetes schemas', () => {
  const service: Manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { ports: [{ port: 80 }] },
  }

  it('accepts a correct Kubernetes object', async () => {
    expect(await schemaFaults([service])).toEqual([])
  })

  it('detects a wrong type, an unknown key and an unknown kind in a Kubernetes object', async () => {
    const faults = await schemaFaults([
      { ...service, spec: { ports: [{ port: '80' }] } },
      { ...service, spec: { prots: [] } },
      { ...service, kind: 'Servce' },
    ])
    expect(faults.join('\n')).toMatch(/integer|number/)
    expect(faults.join('\n')).toContain('prots')
    expect(faults.join('\n')).toContain('v1 has no Servce')
  })
})

it('accepts secret.example.yaml, which contains no real secret', async () => {
  const secrets = manifestsIn(readFileSync(path.join(repository, 'deploy/kubernetes/secret.example.yaml'), 'utf8'))
  expect(await schemaFaults(secrets)).toEqual([])
  const values = secrets.flatMap(({ stringData }) => Object.values((stringData ?? {}) as Record<string, string>))
  for (const value of values) expect(value).toContain('replace-me')
})

describe.skipIf(!hasKubectl).each(overlays)('overlay %s', overlay => {
  let manifests: Manifest[]
  beforeAll(() => {
    manifests = built(overlay)
  })

  it('builds only objects that are valid according to the Kubernetes schemas', async () => {
    expect(await schemaFaults(manifests)).toEqual([])
  })

  it('hardens every pod, and contains every object that its pods need except Secrets', () => {
    expectHardened(manifests)
    expectComplete(manifests)
  })

  it('runs one daemon with probes, enough time to flush, and only settings that exist', () => {
    const [deployment, ...others] = ofKind(manifests, 'Deployment')
    expect(others).toEqual([])
    if (deployment !== undefined) expectDaemon(deployment)
  })

  it('refers to pod ports by number, because Kubernetes before 1.32 does not resolve named ports of native sidecars', () => {
    expectNumberedPorts(manifests)
  })

  it("selects the daemon's pods, and no others in the namespace", () => {
    expectOwnPodsSelected(manifests)
  })

  it.each(profileNames)('configures the daemon without any ignored settings (profile %s)', profile => {
    const { config } = configurationIn(edited(manifests, profile), 'Deployment', profile)
    expect(config.platform.url).toBeDefined()
    expect(config.platform.token.current()).toBeDefined()
    expect(config.webhook.signingToken.current()).toBeDefined()
    expect(config.observability.token.current() !== undefined).toBe(overlay === 'token-rotation')
  })
})

describe.skipIf(!hasKubectl)('each kustomize overlay', () => {
  const spec = (overlay: string, kind: string): Record<string, unknown> => ofKind(built(overlay), kind)[0]?.spec ?? {}

  it('never runs two daemons on the same file in overlay single', () => {
    expect(spec('single', 'Deployment')).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(spec('single', 'PersistentVolumeClaim')).toMatchObject({ accessModes: ['ReadWriteOncePod'] })
  })

  it('leaves the number of replicas to the autoscaler in overlay scaled, and replaces a replica only once another is ready', () => {
    const deployment = spec('scaled', 'Deployment')
    expect(deployment.replicas).toBeUndefined()
    expect(deployment.strategy).toMatchObject({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } })
    expect(spec('scaled', 'HorizontalPodAutoscaler')).toMatchObject({ minReplicas: 3 })
  })

  it('works with the Secrets that `pipespan setup` writes', () => {
    const secrets = secretsOf(
      manifestOf('ci', { webhook: 'a-webhook-token', platform: 'an-api-token', ingest: 'a-token' }),
    )
    const store = { url: 'postgres://pipespan:x@postgres/pipespan' }
    const { config } = configurationIn(built('token-rotation'), 'Deployment', 'generic', {
      ...secrets,
      'pipespan-store': store,
    })
    expect(config.platform.token.current()?.reveal()).toBe('an-api-token')
    expect(config.observability.token.current()?.reveal()).toBe('a-token')
  })

  it('runs Pipespan as a native sidecar that exports to localhost in overlay sidecar', () => {
    const [deployment] = ofKind(built('sidecar'), 'Deployment')
    const pod = deployment === undefined ? undefined : podOf(deployment)
    expect(pod?.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['pipespan', 'Always'],
    ])
    expect(pod?.containers.map(({ name }) => name)).toEqual(['collector'])
    const { settings } = configurationIn(built('sidecar'), 'Deployment', 'generic')
    expect(settings.find(({ value }) => value === 'http://127.0.0.1:4318')).toBeDefined()
  })

  it('allows overlay token-rotation only to get and patch a single Secret', () => {
    const manifests = built('token-rotation')
    expect(ofKind(manifests, 'Role').map(({ rules }) => rules)).toEqual([
      [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['pipespan-ingest'], verbs: ['get', 'patch'] }],
    ])
    expect(ofKind(manifests, 'ClusterRole')).toEqual([])
    const [job] = ofKind(manifests, 'CronJob')
    expect(job?.spec).toMatchObject({ concurrencyPolicy: 'Forbid' })
    for (const container of (job && podOf(job)?.containers) ?? []) expectKnownSettings(container)
    expect(givenIn(configurationIn(manifests, 'CronJob', 'generic'))).toContain('observability.api_key')
  })

  it('keeps the store in the pod in overlay runner, and polls for missed pipelines', () => {
    const { config } = configurationIn(built('runner'), 'Deployment', 'generic')
    expect(config.platform.token.current()).toBeDefined()
    const [deployment] = ofKind(built('runner'), 'Deployment')
    const pod = deployment === undefined ? undefined : podOf(deployment)
    expect(pod?.initContainers).toMatchObject([{ name: 'pipespan', restartPolicy: 'Always' }])
    expect(pod?.volumes).toContainEqual({ name: 'data', emptyDir: { sizeLimit: '2Gi' } })
  })

  it('runs no more replicas in overlay scaled than PostgreSQL has connections for, including the extra one during a rollout', () => {
    const { maxReplicas } = spec('scaled', 'HorizontalPodAutoscaler') as { maxReplicas: number }
    expect((maxReplicas + 1) * connectionsPerDaemon).toBeLessThanOrEqual(100 - 3)
  })
})

/** Returns an overlay with components, as built by kubectl. */
function withComponents(overlay: string, ...components: readonly string[]): Manifest[] {
  using folder = new DisposableFolder()
  const at = (name: string) => path.relative(folder.path, path.join(repository, 'deploy', name))
  const list = components.map(name => at(name === 'grafana' ? name : `kubernetes/components/${name}`))
  writeFileSync(
    path.join(folder.path, 'kustomization.yaml'),
    `resources: [${at(`kubernetes/overlays/${overlay}`)}]\ncomponents: [${list.join(', ')}]\n`,
  )
  return manifestsIn(runTool('kubectl', ['kustomize', folder.path]))
}

describe.skipIf(!hasKubectl)('the components of the overlays', () => {
  it.each([
    ['single', 'admin'],
    ['scaled', 'service-monitor'],
    ['single', 'ingress'],
    ['scaled', 'http-route'],
    ['single', 'token-rotation'],
    ['single', 'grafana'],
    ['sidecar', 'token-rotation'],
    ['runner', 'service-monitor'],
    ['sidecar', 'ingress'],
    ['runner', 'http-route'],
  ])('builds a valid overlay %s with the component %s', async (overlay, component) => {
    const manifests = withComponents(overlay, component)
    expect(await schemaFaults(manifests)).toEqual([])
    expectHardened(manifests)
    expectComplete(manifests)
    expectOwnPodsSelected(manifests)
    expectNumberedPorts(manifests)
    const [deployment] = ofKind(manifests, 'Deployment')
    if (deployment !== undefined) expectDaemon(deployment)
    const { config } = configurationIn(manifests, 'Deployment', 'generic')
    expect(config.observability.token.current() !== undefined).toBe(component.startsWith('token-rotation'))
  })

  it('serves metrics with the admin token to a ServiceMonitor', () => {
    const manifests = withComponents('scaled', 'service-monitor')
    expect(ofKind(manifests, 'ServiceMonitor')[0]?.spec).toMatchObject({
      endpoints: [{ port: 'admin', path: '/metrics', authorization: { type: 'Bearer' } }],
    })
    const { config } = configurationIn(manifests, 'Deployment', 'generic')
    expect(config.admin.token.current()).toBeDefined()
  })

  it("contains every dashboard under the label that Grafana's sidecar looks for", () => {
    const found = ofKind(withComponents('single', 'grafana'), 'ConfigMap').filter(
      ({ metadata }) => metadata.labels?.grafana_dashboard === '1',
    )
    expect(found.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'pipespan-dashboard-daemon',
      'pipespan-dashboard-delivery',
      'pipespan-dashboard-pipelines',
    ])
  })
})

it('runs the rotation command in a job of a scheduled pipeline, with known settings only', () => {
  const text = readFileSync(path.join(repository, 'deploy/ci/token-rotation.yml'), 'utf8')
  const { 'rotate ingest token': job } = parse(text) as {
    'rotate ingest token': { script: string[]; variables: Record<string, string>; allow_failure: unknown }
  }
  // test/release/container.test.ts runs the job's command in the container image.
  expect(job.script).toEqual([expect.stringMatching(/^pipespan tokens rotate --name=\S+ --target=kubernetes:\S+/)])
  expect(job.allow_failure).toEqual({ exit_codes: [3] })
  const known = knownVariables()
  for (const name of Object.keys(job.variables)) if (name !== 'GIT_STRATEGY') expect(known).toContain(name)
})

/** A temporary folder within the repository, because kustomize accepts only relative paths. It is removed at the end of its scope. */
class DisposableFolder {
  readonly path = realpathSync(mkdtempSync(path.join(tmpdir(), 'pipespan-kustomize-')));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true })
  }
}
