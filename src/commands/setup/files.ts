// The files that the setup writes: a file for each secret, the configuration that refers to these files, and the manifest of the Kubernetes Secrets.
import { join, resolve } from 'node:path'
import { stringify } from 'yaml'
import { readIfThere } from '../../lib/durable-file.ts'
import type { SetupAnswers } from './answers.ts'

export const fileNames = {
  webhook: 'webhook-token',
  platform: 'platform-token',
  ingest: 'ingest-token',
  configuration: 'pipespan.yaml',
  manifest: 'secret.yaml',
} as const

export function pathIn({ folder }: Pick<SetupAnswers, 'folder'>, name: keyof typeof fileNames): string {
  return join(resolve(folder), fileNames[name])
}

/** Reads a secret from the first line of its file. Returns undefined if the file is missing or empty. */
export async function secretIn(answers: SetupAnswers, name: keyof typeof fileNames): Promise<string | undefined> {
  const [text] = ((await readIfThere(pathIn(answers, name))) ?? '').trim().split(/\s*\n/)
  return text === undefined || text === '' ? undefined : text
}

/** Returns the daemon's configuration (YAML), which refers to the files and tokens that the setup has created. */
export function configurationOf(answers: SetupAnswers): string {
  const { platformUrl, publicUrl, otlpEndpoint, projects, groups, observabilityUrl } = answers
  const configuration = {
    listen: '[::]:8080',
    public_url: publicUrl,
    webhook: { token_file: pathIn(answers, 'webhook') },
    platform: { url: platformUrl, token_file: pathIn(answers, 'platform') },
    poll: { ...(projects.length > 0 && { projects }), ...(groups.length > 0 && { groups }) },
    redelivery: true,
    otlp: { endpoint: otlpEndpoint },
    ...(observabilityUrl !== undefined && {
      observability: { url: observabilityUrl, token_file: pathIn(answers, 'ingest') },
    }),
  }
  return `# Written by \`pipespan setup\`. Every other setting has a default: config/REFERENCE.md.\n${stringify(configuration)}`
}

/**
 * Returns the manifest (YAML) of the Secrets that the Helm chart and the manifests in deploy/kubernetes expect, with the secrets that exist so far.
 * The ingest token is in a separate Secret, which the token rotation job may change.
 */
export function manifestOf(namespace: string, secrets: Partial<Record<keyof typeof fileNames, string>>): string {
  const { webhook, platform, ingest } = secrets
  const manifests = [
    secretOf('pipespan', namespace, { [fileNames.webhook]: webhook, [fileNames.platform]: platform }),
    ...(ingest === undefined ? [] : [secretOf('pipespan-ingest', namespace, { token: ingest })]),
  ]
  return manifests.map(manifest => stringify(manifest)).join('---\n')
}

function secretOf(name: string, namespace: string, stringData: Readonly<Record<string, string | undefined>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
}
