// Reconstructs a container's environment in a test folder: its variables, and the files that it mounts from ConfigMaps and Secrets.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { describeFault } from '../../src/daemon/configuration/config-fault.ts'
import { loadConfig, type LoadedConfig } from '../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../src/daemon/profile.ts'
import { manifestsIn, ofKind, podOf, type Container, type Manifest, type PodSpec } from './manifest.ts'
import { features } from '../../src/features.ts'
import { repository } from './tool.ts'

/** The keys and values of Secrets, by Secret name. */
type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Returns the Secrets in these manifests (YAML). */
export function secretsOf(text: string): Secrets {
  return Object.fromEntries(
    manifestsIn(text).map(({ metadata, stringData = {} }) => [metadata.name, stringData as Record<string, string>]),
  )
}

/** The Secrets that the operator creates, with the keys from their examples, and the Secret that the token rotation fills. */
const exampleSecrets: Secrets = {
  ...Object.fromEntries(
    manifestsIn(readFileSync(path.join(repository, 'deploy/kubernetes/secret.example.yaml'), 'utf8')).map(
      ({ metadata, stringData = {} }) => [metadata.name, withValidKey(stringData as Record<string, string>)],
    ),
  ),
  'pipespan-ingest': { token: 'a-token-that-the-rotation-wrote' },
}

/** Replaces the example of a signing token with a valid one. The example is deliberately not base64, so that nobody uses it unchanged. */
function withValidKey(example: Record<string, string>): Record<string, string> {
  return 'signing-token' in example ? { ...example, 'signing-token': 'whsec_c2VjcmV0' } : example
}

/**
 * Returns the configuration that a container of this object gets under this profile, as the daemon's own loader reads it. The configuration must have
 * no errors, and no setting in the manifest may be ignored.
 */
export function configurationIn(
  manifests: readonly Manifest[],
  kind: 'Deployment' | 'CronJob',
  profile: ProfileName,
  secrets: Secrets = exampleSecrets,
): LoadedConfig<ProfileName> {
  const [manifest] = ofKind(manifests, kind)
  const pod = manifest && podOf(manifest)
  const container = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].find(({ name }) =>
    ['pipespan', 'rotate'].includes(name),
  )
  if (pod === undefined || container === undefined) throw new Error(`There is no ${kind} that runs Pipespan.`)
  const env = environmentOf(container, pod, manifests, secrets)
  const loaded = loadConfig({
    env: { ...imageVariables(), ...env },
    file: undefined,
    profiles,
    features,
    listens: kind === 'Deployment',
  })
  if (!loaded.ok) throw new Error(loaded.faults.map(describeFault).join('\n'))
  expect(loaded.warnings).toEqual([])
  expect(loaded.config.platform.profile).toBe(profile)
  const read = loaded.settings.flatMap(({ source }) => (source.from === 'environment' ? [source.variable] : []))
  expect(read).toEqual(
    expect.arrayContaining(Object.keys(env).filter(name => /^(PIPESPAN|SERVICE|GITLAB|OTEL)_/.test(name))),
  )
  return loaded
}

/** Returns the paths of the settings that are set explicitly. */
export function givenIn({ settings }: LoadedConfig): string[] {
  return settings.flatMap(({ path: setting, source }) => (source.from === 'default' ? [] : [setting]))
}

function environmentOf(
  { env = [], volumeMounts = [] }: Container,
  { volumes = [] }: PodSpec,
  manifests: readonly Manifest[],
  secrets: Secrets,
): Record<string, string> {
  const root = temporaryFolder()
  for (const { name, mountPath } of volumeMounts) {
    const volume = volumes.find(one => one.name === name)
    const files =
      volume?.secret === undefined ? configMap(manifests, volume?.configMap?.name) : secrets[volume.secret.secretName]
    const folder = path.join(root, mountPath)
    mkdirSync(folder, { recursive: true })
    for (const [file, text] of Object.entries(files ?? {})) {
      writeFileSync(path.join(folder, file), text.replaceAll('/run/secrets', path.join(root, 'run/secrets')))
    }
  }
  const inRoot = (text: string): string =>
    volumeMounts.some(({ mountPath }) => text.startsWith(`${mountPath}/`)) ? path.join(root, text) : text
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      if (value !== undefined) return [name, inRoot(value)]
      const { secretKeyRef, configMapKeyRef } = valueFrom ?? {}
      if (secretKeyRef !== undefined) return [name, secrets[secretKeyRef.name]?.[secretKeyRef.key] ?? '']
      if (configMapKeyRef === undefined) return [name, 'a-namespace']
      return [name, configMap(manifests, configMapKeyRef.name)?.[configMapKeyRef.key] ?? '']
    }),
  )
}

function configMap(manifests: readonly Manifest[], name: string | undefined): Record<string, string> | undefined {
  return ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === name)?.data as
    Record<string, string> | undefined
}

/** Returns the settings that are built into the image. */
function imageVariables(): Record<string, string> {
  const text = readFileSync(path.join(repository, 'Dockerfile'), 'utf8')
  return Object.fromEntries(
    [...text.matchAll(/(PIPESPAN_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  )
}
