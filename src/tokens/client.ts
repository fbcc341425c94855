// The observability instance's ingest-token API: create, list, revoke, and the state of enforcement
// (the platform's REST document, "Pipeline telemetry export (observability instance)").
import type { Dispatcher } from 'undici'
import { Secret } from '../lib/secret.ts'
import { errorOfAnswer, errorOfBody, errorOfKey, InstanceError } from './instance-error.ts'
import { readCreated, readList, readState, type ListedToken } from './listed-token.ts'
import type { CreatedToken, IngestTokens, Revocation } from './ingest-tokens.ts'
import { dispatcherFor, isSendable, parsed, send, type Answer, type Call } from './request.ts'
import { createPauses, type RetryPauses, type Pauses } from './pauses.ts'

export interface InstanceOptions {
  /** The instance's base URL, possibly with a path before `/api/v1`. */
  readonly url: string
  /** Called for every request. */
  readonly apiKey: () => Secret | undefined
  /** PEM of the CA to trust. */
  readonly ca?: string
  /** Takes precedence over `ca`. */
  readonly dispatcher?: Dispatcher
  readonly timeoutMs: number
  /** Repeats what is answered with 429 or 503; undefined: everything is sent once. */
  readonly retry?: RetryPauses | undefined
}

export function createIngestTokens(options: InstanceOptions): IngestTokens {
  const base = new URL(options.url)
  const own = options.dispatcher === undefined ? dispatcherFor(options.ca) : undefined

  async function ask(method: Call['method'], path: string, asked: string, body?: object) {
    const pauses = createPauses(options.retry)
    for (;;) {
      const answer = await askOnce(method, path, body)
      if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer
      // A creation that is answered with 503 may have been made: `createAgain` looks for it first.
      const isAgain = answer.kind === 'answered' && (method !== 'POST' || answer.status === 429)
      if (!isAgain || !(await pauses.rest(answer))) throw errorOfAnswer(answer, asked, options.apiKey()?.reveal() ?? '')
    }
  }

  async function askOnce(method: Call['method'], path: string, body?: object): Promise<Answer> {
    const key = options.apiKey()?.reveal()
    if (key === undefined) throw errorOfKey('missing')
    if (!isSendable(key)) throw errorOfKey('unsendable')
    return send({
      method,
      url: new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/api/v1/ingest_auth/${path}`),
      headers: {
        accept: 'application/json',
        'observability-api-key': key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: options.timeoutMs,
      dispatcher: options.dispatcher ?? own,
    })
  }

  async function list(): Promise<readonly ListedToken[]> {
    const asked = 'list the ingest tokens'
    const answer = await ask('GET', 'tokens', asked)
    const tokens = readList(parsed(answer.text), Date.now())
    if (tokens === undefined) throw errorOfBody(answer, asked, 'the answer is incomplete, or not a list of tokens')
    return tokens
  }

  async function enforcement(): Promise<boolean> {
    const asked = 'read the state of enforcement'
    const answer = await ask('GET', 'state', asked)
    const enabled = readState(parsed(answer.text))
    if (enabled === undefined) throw errorOfBody(answer, asked, 'the answer is incomplete, or has no enforcement state')
    return enabled
  }

  /** The status of refusing the last token is not documented, so the reason is found by listing the tokens. */
  async function isLast(id: string): Promise<boolean> {
    if (!(await enforcement())) return false
    const valid = (await list()).filter(token => token.valid)
    return valid.length === 1 && valid[0]?.id === id
  }

  async function create(name: string): Promise<CreatedToken> {
    const asked = `create an ingest token named "${name}"`
    const answer = await ask('POST', 'tokens', asked, { name })
    const token = readCreated(parsed(answer.text))
    if (token === undefined) throw errorOfBody(answer, asked, 'the answer is incomplete, or has no token')
    if (!isSendable(token.value))
      throw errorOfBody(answer, asked, 'the token in the answer cannot be sent in an HTTP header')
    return { value: new Secret(token.value), id: token.id }
  }

  async function revoke(id: string): Promise<Revocation> {
    try {
      await ask('DELETE', `tokens/${encodeURIComponent(id)}`, `revoke the ingest token ${id}`)
      return 'revoked'
    } catch (error) {
      if (!(error instanceof InstanceError)) throw error
      if (error.kind === 'not-found') return 'gone'
      const refused = error.kind === 'refused' || error.kind === 'forbidden'
      if (refused && (await isLast(id).catch(() => error.status === 409))) return 'last'
      throw error
    }
  }

  return {
    url: options.url,
    list,
    enforcement,
    create: async name =>
      options.retry === undefined
        ? create(name)
        : createAgain(name, { create, list, revoke }, createPauses(options.retry)),
    revoke,
    setEnforcement: async enabled => {
      const asked = `turn enforcement ${enabled ? 'on' : 'off'}`
      const answer = await ask('PUT', 'state', asked, { enabled })
      // An answer without the state (204): read it.
      return readState(parsed(answer.text)) ?? (await enforcement())
    },
    close: async () => own?.close(),
  }
}

/**
 * Creates a token, also where the instance is overloaded for a moment. A 503 leaves open whether the token was created, and its value is lost: so what
 * has appeared since is revoked.
 */
async function createAgain(
  name: string,
  { create, list, revoke }: Pick<IngestTokens, 'create' | 'list' | 'revoke'>,
  pauses: Pauses,
): Promise<CreatedToken> {
  const ids = async (): Promise<readonly string[]> =>
    (await list()).filter(token => token.valid && (token.name ?? name) === name).map(({ id }) => id)
  // Without a list there is no second try; why it is refused, the creation says as well.
  const before = await ids().catch(() => undefined)
  /** The last valid token cannot be revoked while enforcement is on, but as soon as there is another one. */
  const kept: string[] = []
  for (;;) {
    try {
      const token = await create(name)
      // The new value must not get lost for an older token that cannot be revoked.
      for (const id of kept) await revoke(id).catch(() => undefined)
      return token
    } catch (error) {
      if (!(error instanceof InstanceError) || error.status !== 503) throw error
      if (before === undefined || !(await pauses.rest(error))) throw error
      const [orphan, ...others] = (await ids()).filter(id => !before.includes(id) && !kept.includes(id))
      // Somebody else creates tokens of this name: which one is ours is unknown.
      if (others.length > 0) throw error
      if (orphan !== undefined && (await revoke(orphan)) === 'last') kept.push(orphan)
    }
  }
}
