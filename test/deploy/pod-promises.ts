// Checks the guarantees that hold for every pod that we ship, whichever tool created its manifest.
import { expect } from 'vitest'
import { flushDeadline } from '../../src/daemon/daemon.ts'
import { knownVariables } from './known-variables.ts'
import { ofKind, podLabelsOf, podOf, type Container, type Manifest } from './manifest.ts'

export function expectHardened(manifests: readonly Manifest[]): void {
  const pods = manifests.flatMap(manifest => podOf(manifest) ?? [])
  expect(pods.length).toBeGreaterThan(0)
  for (const pod of pods) {
    expect(pod.enableServiceLinks).toBe(false)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 })
    expect(pod.securityContext?.seccompProfile).toEqual({ type: 'RuntimeDefault' })
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      expect(container.image).toMatch(/:\d+\.\d+\.\d+$/)
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(Object.keys(container.resources?.requests ?? {})).toEqual(['cpu', 'memory'])
      expect(container.resources?.limits?.memory).toBeDefined()
      // A subPath mount is never updated, so the daemon would not see a rotated secret.
      for (const mount of container.volumeMounts ?? []) expect(mount.subPath).toBeUndefined()
    }
  }
}

/** Checks that the daemon in a Deployment has probes, enough time to flush, no Kubernetes API token, and only settings that exist. */
export function expectDaemon(manifest: Manifest): Container {
  const pod = podOf(manifest)
  expect(pod?.automountServiceAccountToken).toBe(false)
  expect((pod?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(flushDeadline + 2 * 5_000)
  const daemon = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].find(({ name }) => name === 'pipespan')
  if (daemon === undefined) throw new Error('The Deployment has no container named pipespan.')
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) expect(daemon[probe]).toBeDefined()
  expectKnownSettings(daemon)
  return daemon
}

/** Checks that no variable is misspelled, that no secret is set in clear text, and that every secret file is in a mounted folder. */
export function expectKnownSettings({ env = [], volumeMounts = [] }: Container): void {
  const known = knownVariables()
  for (const { name, value } of env) {
    if (/^(PIPESPAN|SERVICE|OTEL)_/.test(name)) expect(known).toContain(name)
    if (/(TOKEN|API_KEY)$/.test(name)) expect(value).toBeUndefined()
    if (name.endsWith('_FILE'))
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain(value?.replace(/\/[^/]+$/, ''))
  }
}

/** Checks that the manifests include every ConfigMap that a pod mounts. They never include Secrets, because the operator creates those. */
export function expectComplete(manifests: readonly Manifest[]): void {
  const names = (kind: string) => manifests.filter(one => one.kind === kind).map(one => one.metadata.name)
  expect(names('Secret')).toEqual([])
  for (const manifest of manifests) {
    const pod = podOf(manifest)
    if (pod === undefined) continue
    expect(names('ServiceAccount')).toContain(pod.serviceAccountName)
    for (const { configMap } of pod.volumes ?? []) if (configMap) expect(names('ConfigMap')).toContain(configMap.name)
    const volumes = (pod.volumes ?? []).map(({ name }) => name)
    for (const { volumeMounts = [] } of [...(pod.initContainers ?? []), ...pod.containers]) {
      for (const { name } of volumeMounts) expect(volumes).toContain(name)
    }
  }
}

/** Pods of other programs in the same namespace, labelled like the pods of their charts, and the pod of the token rotation. */
const otherPods = [
  {},
  { 'app.kubernetes.io/name': 'opentelemetry-collector', 'app.kubernetes.io/instance': 'ci' },
  { 'app.kubernetes.io/name': 'postgresql', 'app.kubernetes.io/instance': 'ci' },
  { app: 'pipespan-frontend' },
]

/** Checks that every pod selector selects the daemon's pods and no others. A NetworkPolicy for all pods would cut off the whole namespace. */
export function expectOwnPodsSelected(manifests: readonly Manifest[]): void {
  const [daemon] = ofKind(manifests, 'Deployment')
  if (daemon === undefined) throw new Error('There is no Deployment.')
  const others = [...otherPods, ...ofKind(manifests, 'CronJob').map(podLabelsOf)]
  const selectors = manifests.flatMap(({ kind, spec }) => {
    if (kind === 'NetworkPolicy') return [labelsIn(spec?.podSelector)]
    if (kind === 'Deployment' || kind === 'PodDisruptionBudget') return [labelsIn(spec?.selector)]
    return kind === 'Service' ? [spec?.selector as Record<string, string>] : []
  })
  expect(selectors.length).toBeGreaterThan(3)
  const selects = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
    Object.entries(selector).every(([name, value]) => labels[name] === value)
  for (const selector of selectors) {
    expect(selects(selector, podLabelsOf(daemon))).toBe(true)
    for (const other of others) expect(selects(selector, other)).toBe(false)
  }
}

/** Checks that Services and NetworkPolicies refer to pod ports by number. Kubernetes resolves named ports of native sidecars only since 1.32. */
export function expectNumberedPorts(manifests: readonly Manifest[]): void {
  const services = ofKind(manifests, 'Service').flatMap(({ spec }) => spec?.ports as { targetPort: unknown }[])
  const policies = ofKind(manifests, 'NetworkPolicy').flatMap(({ spec }) =>
    ['ingress', 'egress'].flatMap(way => (spec?.[way] ?? []) as { ports?: { port: unknown }[] }[]),
  )
  const ports = [
    ...services.map(one => one.targetPort),
    ...policies.flatMap(one => one.ports ?? []).map(one => one.port),
  ]
  expect(ports.length).toBeGreaterThan(1)
  for (const port of ports) expect(port).toBeTypeOf('number')
}

function labelsIn(selector: unknown): Record<string, string> {
  const { matchLabels = {} } = (selector ?? {}) as { matchLabels?: Record<string, string> }
  return matchLabels
}
