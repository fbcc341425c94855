// Generates the parts of the Helm chart that depend on the option table and on the chart's values: the schema of `config`, the advice about secrets,
// and the README.
import { isMap, isScalar, parseDocument, stringify, type Pair, type Scalar, type YAMLMap } from 'yaml'
import { allOptions } from '../../src/daemon/configuration/options.ts'
import { rowsOf, type Profiles } from '../../src/daemon/configuration/option.ts'
import { features } from '../../src/features.ts'
import { jsonSchema } from './json-schema.ts'

/** Returns the chart's values.schema.json: `schema`, in which the property `config` has the schema of the configuration. */
export function chartSchema(schema: string, profiles: Profiles): string {
  const parsed = JSON.parse(schema) as { properties: Record<string, unknown> }
  const { $schema: _, title: __, ...config } = jsonSchema(profiles)
  return `${JSON.stringify({ ...parsed, properties: { ...parsed.properties, config } }, null, 2)}\n`
}

/** The chart values that set secrets of the configuration, by the path of the secret. Other secrets are mounted. */
const values: Readonly<Record<string, string>> = {
  'webhook.token': 'webhook.existingSecret and webhook.key',
  'webhook.signing_token': 'webhook.existingSecret and webhook.signingKey',
  'platform.token': 'platform.existingSecret and platform.key',
  'admin.token': 'admin.existingSecret and admin.key',
  'observability.token': 'tokenRotation.existingSecret',
  'observability.api_key': 'tokenRotation.apiKeySecret and tokenRotation.apiKeySecretKey',
}

/** Returns the chart's files/secrets.yaml: the path of each secret in `config`, and how to provide the secret outside `config`. */
export function chartSecrets(profiles: Profiles): string {
  const rows = rowsOf(allOptions(profiles, features)).filter(({ option }) => option.kind.secret)
  const remedies = rows.map(({ path }) => {
    const value = values[path]
    const key = path.slice(path.lastIndexOf('.') + 1)
    const remedy =
      value === undefined
        ? `Mount a Secret with extraVolumes and extraVolumeMounts, and set ${key}_file to the path of its file.`
        : `Store it in a Secret, and refer to that Secret with ${value}.`
    return [path, remedy] as const
  })
  return `# Generated: the secrets of the configuration, and where to store each of them.\n${stringify(Object.fromEntries(remedies), { lineWidth: 0 })}`
}

/** Returns the chart's README.md, generated from the comments in its values.yaml. */
export function chartReadme(valuesYaml: string): string {
  const { contents } = parseDocument(valuesYaml)
  if (!isMap(contents)) throw new TypeError('values.yaml is not a mapping')
  return `# Helm chart

The table of values is generated from the comments in values.yaml: change them there. A release contains the chart as a separate file, \`pipespan-chart-VERSION.tgz\`. The chart supports the same deployments as the [kustomize overlays](../../kubernetes/README.md): one replica with SQLite on a volume,
replicas that share a PostgreSQL database, and a native sidecar.

<!-- tested: test/deploy/helm.test.ts -->
\`\`\`sh
helm template pipespan deploy/helm/pipespan --set image.repository=registry.example.com/pipespan
\`\`\`

\`config\` has the format of the YAML file in [the configuration reference](../../../config/REFERENCE.md), and is checked against its schema. If it contains a secret, the chart rejects it and names the value to use instead.
Webhooks from outside the cluster arrive at \`/webhooks\` below \`config.base_path\`. With \`config.tls\` the daemon and its probes use HTTPS; mount the certificate with \`extraVolumes\`, and
use the annotations of your Ingress to configure HTTPS to the backend.

Run commands in a container of the daemon:

<!-- outside: a cluster -->
\`\`\`sh
kubectl exec deploy/pipespan -c pipespan -- pipespan doctor
\`\`\`

| value | default | meaning |
|---|---|---|
${rowsIn(contents, '').join('\n')}
`
}

function rowsIn(map: YAMLMap, prefix: string): string[] {
  return map.items.flatMap((pair, index): string[] => {
    const { key, value } = pair as Pair<Scalar<string>>
    const path = `${prefix}${key.value}`
    // The YAML library attaches the comment above the first key of a mapping to the mapping instead of the key.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? ''
    const text = comment.replaceAll(/\s*\n\s*/g, ' ').trim()
    if (isMap(value) && value.items.length > 0)
      return [...(text === '' ? [] : [`| \`${path}\` | | ${text} |`]), ...rowsIn(value, `${path}.`)]
    const plain: unknown = isScalar(value) ? value.value : (value as { toJSON(): unknown } | null)?.toJSON()
    return [`| \`${path}\` | \`${JSON.stringify(plain)}\` | ${text.replaceAll('|', '\\|')} |`]
  })
}
