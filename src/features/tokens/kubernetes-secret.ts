// Reads and patches a Secret through the Kubernetes API, authenticating with the pod's service account.
import { RotationError } from './journal.ts'
import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { z } from 'zod'
import { certificateRemedy } from '../../lib/certificate-remedy.ts'
import { reasonOf } from '../../lib/fault.ts'
import { parsed, send, wordsOf, type Answer } from './request.ts'
import { Secret } from '../../lib/secret.ts'

export interface KubernetesOptions {
  /** The environment variables. Kubernetes sets KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT in every pod. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder that contains the service account's `token` and `ca.crt`. */
  readonly accountFolder?: string
  readonly timeoutMs: number
}

export interface SecretName {
  readonly namespace: string
  readonly secret: string
}

export interface SecretObject {
  readonly resourceVersion: string
  readonly annotations: Readonly<Record<string, string>>
  /** The values of the Secret by key, base64-encoded. */
  readonly data: Readonly<Record<string, string>>
}

/** A JSON merge patch for a Secret: null removes an entry. */
export interface SecretPatch {
  readonly annotations?: Readonly<Record<string, string | null>>
  readonly data?: Readonly<Record<string, string>>
}

/** Reads and patches one Secret. Every call throws a RotationError if the API is unreachable or rejects the request. */
export interface SecretApi {
  get(): Promise<SecretObject>
  /** Patches the Secret. Returns undefined on a conflict (409): another writer has changed the Secret, so it no longer has this `resourceVersion`. */
  patch(patch: SecretPatch, resourceVersion: string): Promise<SecretObject | undefined>
  close(): Promise<void>
}

const secretObject = z.object({
  metadata: z.object({ resourceVersion: z.string(), annotations: z.record(z.string(), z.string()).nullish() }),
  data: z.record(z.string(), z.string()).nullish(),
})

const account = '/var/run/secrets/kubernetes.io/serviceaccount'

export function createSecretApi(name: SecretName, options: KubernetesOptions): SecretApi {
  const folder = options.accountFolder ?? account
  const url = addressOf(name, options.env)
  let trusting: Agent | undefined

  async function call(method: 'GET' | 'PATCH', body?: object): Promise<Answer> {
    // The service account token is read for every request, because the kubelet rotates it while the pod runs.
    const token = new Secret((await mounted(`${folder}/token`)).trim())
    trusting ??= new Agent({ connect: { ca: await mounted(`${folder}/ca.crt`) } })
    return await send({
      method,
      url,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token.reveal()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/merge-patch+json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: options.timeoutMs,
      dispatcher: trusting,
    })
  }

  function read(answer: Answer, verb: 'get' | 'patch'): SecretObject {
    if (answer.kind === 'failed' || answer.status !== 200) throw errorOf(answer, name, verb)
    const { data } = secretObject.safeParse(parsed(answer.text))
    if (data === undefined) {
      throw new RotationError(
        `Could not ${verb} the Secret ${name.namespace}/${name.secret}: the response is incomplete, or not a Secret.`,
        'Check that KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT point to the Kubernetes API.',
      )
    }
    const { resourceVersion, annotations } = data.metadata
    return { resourceVersion, annotations: annotations ?? {}, data: data.data ?? {} }
  }

  return {
    get: async () => read(await call('GET'), 'get'),
    patch: async ({ annotations, data }, resourceVersion) => {
      // With a resourceVersion, the API applies the patch to exactly that version or responds with 409.
      const answer = await call('PATCH', {
        metadata: { resourceVersion, ...(annotations === undefined ? {} : { annotations }) },
        ...(data === undefined ? {} : { data }),
      })
      return answer.kind === 'answered' && answer.status === 409 ? undefined : read(answer, 'patch')
    },
    close: async () => trusting?.close(),
  }
}

function addressOf({ namespace, secret }: SecretName, env: KubernetesOptions['env']): URL {
  const host = env.KUBERNETES_SERVICE_HOST
  const port = env.KUBERNETES_SERVICE_PORT ?? '443'
  if (host === undefined || host === '') throw noPod('KUBERNETES_SERVICE_HOST is not set')
  const literal = host.includes(':') ? `[${host}]` : host
  return new URL(`https://${literal}:${port}/api/v1/namespaces/${namespace}/secrets/${secret}`)
}

async function mounted(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw noPod(reasonOf(error))
  }
}

function noPod(reason: string): RotationError {
  return new RotationError(
    `A kubernetes: target needs the service account of a pod: ${reason}.`,
    'Run the rotation as a Job in the cluster, with automountServiceAccountToken left on.',
  )
}

function errorOf(answer: Answer, { namespace, secret }: SecretName, verb: 'get' | 'patch'): RotationError {
  const name = `${namespace}/${secret}`
  if (answer.kind === 'failed') {
    return new RotationError(
      `Could not ${verb} the Secret ${name}: the Kubernetes API did not answer (${answer.reason}).`,
      certificateRemedy(
        answer.code,
        'The certificate of the Kubernetes API is not signed by the ca.crt of the service account: check the mount.',
      ) ?? 'Check the network policy between this pod and the Kubernetes API, and run again.',
    )
  }
  // Only the error messages of 401, 403 and 404 responses are shown, because a validation error could quote the Secret's value.
  const words = [401, 403, 404].includes(answer.status) ? wordsOf(answer.text, []) : undefined
  const what = `Could not ${verb} the Secret ${name} (${answer.status}${words === undefined ? '' : `: "${words}"`}).`
  return new RotationError(what, remedyFor(answer.status, name, secret))
}

function remedyFor(status: number, name: string, secret: string): string {
  switch (status) {
    case 401:
      return 'The token of the service account is not accepted: check the mount of the service account.'
    case 403:
      return `Give the service account a Role with the verbs get and patch on secrets, resourceNames ["${secret}"].`
    case 404:
      return `Create the Secret ${name} first; it may be empty.`
    case 422:
      return 'The Secret may be immutable: recreate it without "immutable: true".'
    default:
      return 'Run again; if this persists, check the health of the Kubernetes API.'
  }
}
