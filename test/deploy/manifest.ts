// Reads Kubernetes objects from YAML, and validates them against the OpenAPI schema of Kubernetes 1.34 (npm package kubernetes-models). Objects of
// the Prometheus Operator and the Gateway API are validated against the schemas in their definitions.
//
// The schemas define types, required fields and enumerations, but accept unknown keys. Unknown keys are found through the TypeScript types of the npm
// package, which are generated from the same schemas: an object literal may have no key that its type lacks.
import path from 'node:path'
import ts from 'typescript'
import { parseAllDocuments } from 'yaml'
import { repository } from './tool.ts'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> }
  readonly spec?: Record<string, unknown>
  readonly [key: string]: unknown
}

export interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly { name: string; configMap?: { name: string }; secret?: { secretName: string } }[]
  readonly automountServiceAccountToken?: boolean
  readonly enableServiceLinks?: boolean
  readonly serviceAccountName?: string
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: Record<string, unknown>
}

interface KeyOf {
  readonly name: string
  readonly key: string
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly env?: readonly {
    name: string
    value?: string
    valueFrom?: { secretKeyRef?: KeyOf; configMapKeyRef?: KeyOf }
  }[]
  readonly restartPolicy?: string
  readonly securityContext?: Record<string, unknown>
  readonly resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
  readonly volumeMounts?: readonly { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[]
  readonly startupProbe?: unknown
  readonly livenessProbe?: unknown
  readonly readinessProbe?: unknown
}

export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap(document => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const value = document.toJS() as Manifest | null
    return value === null ? [] : [value]
  })
}

interface PodTemplate {
  readonly metadata?: { readonly labels?: Record<string, string> }
  readonly spec: PodSpec
}

function templateOf({ kind, spec }: Manifest): PodTemplate | undefined {
  if (kind === 'Deployment') return (spec as { template: PodTemplate }).template
  if (kind === 'CronJob')
    return (spec as { jobTemplate: { spec: { template: PodTemplate } } }).jobTemplate.spec.template
  return undefined
}

/** Returns the pod spec of a workload, or undefined for kinds that run no pods. */
export function podOf(manifest: Manifest): PodSpec | undefined {
  return templateOf(manifest)?.spec
}

export function podLabelsOf(manifest: Manifest): Record<string, string> {
  return templateOf(manifest)?.metadata?.labels ?? {}
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter(manifest => manifest.kind === kind)
}

/** Returns the name of the npm package that contains the model of an object. */
function modelsOf({ apiVersion }: Manifest): string {
  const packages: Readonly<Record<string, string>> = {
    'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
    'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  }
  return `${packages[apiVersion.split('/', 1)[0] ?? ''] ?? 'kubernetes-models'}/${apiVersion}`
}

/** Returns every violation of the Kubernetes schemas in the objects, each as one sentence. */
export async function schemaFaults(manifests: readonly Manifest[]): Promise<string[]> {
  const faults: string[] = []
  for (const manifest of manifests) {
    const models = (await import(modelsOf(manifest))) as Record<string, new (data: unknown) => { validate(): void }>
    const Model = models[manifest.kind]
    if (Model === undefined) {
      faults.push(`${manifest.apiVersion} has no ${manifest.kind}`)
      continue
    }
    try {
      new Model(manifest).validate()
    } catch (error) {
      faults.push(`${manifest.kind} ${manifest.metadata.name}: ${String(error)}`)
    }
  }
  return [...faults, ...unknownKeys(manifests)]
}

/** The types of kubernetes-models are parsed once and then used for all objects. */
const parsed = new Map<string, ts.SourceFile>()

function unknownKeys(manifests: readonly Manifest[]): string[] {
  const lines = manifests.map(
    (manifest, index) =>
      `export const object${index}: import('${modelsOf(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)}`,
  )
  const file = path.join(repository, 'test/deploy/manifests-as-types.ts')
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    // Kubernetes objects are plain data, so their type check needs no browser types.
    lib: ['lib.es2023.d.ts'],
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const onDisk = { ...host }
  host.fileExists = name => name === file || onDisk.fileExists(name)
  host.getSourceFile = (name, ...rest) => {
    if (name === file) return ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2023)
    const read = parsed.get(name) ?? onDisk.getSourceFile(name, ...rest)
    if (read !== undefined) parsed.set(name, read)
    return read
  }
  const program = ts.createProgram([file], options, host)
  const source = program.getSourceFile(file)
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(diagnostic => {
    const index = source?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0
    const { kind, metadata } = manifests[index] ?? { kind: '?', metadata: { name: '?' } }
    return `${kind} ${metadata.name}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`
  })
}
