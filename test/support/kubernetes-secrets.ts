// A stand-in for the Kubernetes API with a single Secret. It supports GET and JSON merge PATCH over HTTPS, resource versions, RBAC, and Status
// objects.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

interface SecretBody {
  metadata: { resourceVersion: string; annotations?: Record<string, string> | undefined }
  data?: Record<string, string> | undefined
  immutable?: boolean
}

interface MergePatch {
  readonly metadata?: { readonly resourceVersion?: string; readonly annotations?: Record<string, string | null> }
  readonly data?: Record<string, string | null>
}

export interface KubernetesSecrets {
  /** The environment variables that a pod would have. */
  readonly env: Record<string, string>
  readonly accountFolder: string
  /** The service account token that the API accepts. A test changes it, as the kubelet does when it rotates the token. */
  accountToken: string
  /** The verbs that the service account's Role allows. */
  verbs: readonly ('get' | 'patch')[]
  /** The Secret; undefined if it does not exist. */
  secret: SecretBody | undefined
  /** Returns the decoded value of a key in the Secret. */
  value(key: string): string
  /** Creates a new version of the Secret, like another writer that changes annotations or labels. */
  touch(): void
  /** Called before a PATCH is applied, so that a test can change the Secret first. */
  beforePatch: () => void
  /** The content types of the patches, in order of arrival. */
  readonly patchTypes: string[]
  close(): Promise<void>
}

/** Starts the stand-in. `name` is the name of the Secret, with its namespace. */
export async function startKubernetes(name = 'pipespan/ingest'): Promise<KubernetesSecrets> {
  const place = `/api/v1/namespaces/${name.replace('/', '/secrets/')}`
  const tls = path.join(import.meta.dirname, '..', 'fixtures', 'tls')
  const cert = await readFile(path.join(tls, 'localhost.crt'), 'utf8')
  const key = await readFile(path.join(tls, 'localhost.key'), 'utf8')
  let version = 41

  function status(code: number, reason: string, message: string): [number, unknown] {
    return [code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }]
  }

  function shown(secret: SecretBody): [number, unknown] {
    return [200, { kind: 'Secret', apiVersion: 'v1', type: 'Opaque', ...secret }]
  }

  function answer(request: IncomingMessage, body: string): [number, unknown] {
    const { method = '', url = '' } = request
    if (request.headers.authorization !== `Bearer ${api.accountToken}`)
      return status(401, 'Unauthorized', 'Unauthorized')
    const verb = method === 'GET' ? 'get' : 'patch'
    if (!api.verbs.includes(verb)) {
      const account = 'system:serviceaccount:pipespan:rotation'
      const what = `secrets "ingest" is forbidden: User "${account}" cannot ${verb} resource "secrets" in API group ""`
      return status(403, 'Forbidden', `${what} in the namespace "pipespan"`)
    }
    if (url !== place || api.secret === undefined) {
      return status(404, 'NotFound', `secrets "${url.split('/').at(-1) ?? ''}" not found`)
    }
    return method === 'GET' ? shown(api.secret) : patch(request, api.secret, body)
  }

  function patch(request: IncomingMessage, { metadata, data, immutable }: SecretBody, body: string): [number, unknown] {
    const type = request.headers['content-type'] ?? ''
    api.patchTypes.push(type)
    if (type !== 'application/merge-patch+json') {
      return status(415, 'UnsupportedMediaType', `the body of the request was in an unknown format: ${type}`)
    }
    const change = JSON.parse(body) as MergePatch
    const wanted = change.metadata?.resourceVersion
    if (wanted !== undefined && wanted !== metadata.resourceVersion) {
      const why = 'the object has been modified; please apply your changes to the latest version and try again'
      return status(409, 'Conflict', `Operation cannot be fulfilled on secrets "ingest": ${why}`)
    }
    if (immutable === true && change.data !== undefined) {
      return status(
        422,
        'Invalid',
        'Secret "ingest" is invalid: data: Forbidden: field is immutable when `immutable` is set',
      )
    }
    api.secret = {
      metadata: {
        resourceVersion: String((version += 1)),
        annotations: merged(metadata.annotations, change.metadata?.annotations),
      },
      data: merged(data, change.data),
    }
    return shown(api.secret)
  }

  // The keep-alive timeout is longer than any client keeps a connection open, so that no client sends a request on a connection that is being closed.
  const server = createServer({ cert, key, keepAliveTimeout: 300_000 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method === 'PATCH') api.beforePatch()
      const [code, body] = answer(request, Buffer.concat(chunks).toString())
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const accountFolder = await mkdtemp(path.join(tmpdir(), 'service-account-'))
  const accountToken = `account-${randomBytes(8).toString('hex')}`
  await writeFile(path.join(accountFolder, 'token'), accountToken)
  await writeFile(path.join(accountFolder, 'ca.crt'), cert)

  const api: KubernetesSecrets = {
    env: {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
    },
    accountFolder,
    accountToken,
    verbs: ['get', 'patch'],
    secret: { metadata: { resourceVersion: String(version) } },
    value: name => Buffer.from(api.secret?.data?.[name] ?? '', 'base64').toString(),
    touch: () => {
      if (api.secret !== undefined) api.secret.metadata.resourceVersion = String((version += 1))
    },
    beforePatch: () => undefined,
    patchTypes: [],
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return api
}

/** Merges two objects as in RFC 7396, but only one level deep: null removes an entry. */
function merged(
  before: Record<string, string> | undefined,
  change: Record<string, string | null> | undefined,
): Record<string, string> | undefined {
  if (change === undefined) return before
  const result: Record<string, string> = { ...before }
  for (const [name, value] of Object.entries(change)) {
    if (value === null) Reflect.deleteProperty(result, name)
    else result[name] = value
  }
  return result
}
