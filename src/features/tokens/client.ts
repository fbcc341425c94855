// Calls the observability instance's ingest-token API: it creates, lists and revokes tokens, and reads and sets the state of enforcement (the
// platform's REST document, "Pipeline telemetry export (observability instance)").
import type { Dispatcher } from 'undici'
import { Secret } from '../../lib/secret.ts'
import { errorOfAnswer, errorOfBody, errorOfKey, errorOfUnrevoked, InstanceError } from './instance-error.ts'
import { readCreated, readList, readState, type ListedToken } from './listed-token.ts'
import type { CreatedToken, IngestTokens, Revocation } from './ingest-tokens.ts'
import { isSendable, parsed, send, type Answer, type Call } from './request.ts'
import { createPauses, type RetryPauses, type Pauses } from './pauses.ts'

export interface InstanceOptions {
  /** The instance's base URL, possibly with a path before `/api/v1`. */
  readonly url: string
  /** Called for every request, because the key's file may change. */
  readonly apiKey: () => Secret | undefined
  readonly dispatcher?: Dispatcher | undefined
  readonly timeoutMs: number
  /** How requests are repeated after a 429 or a 503. Undefined: every request is sent once. */
  readonly retry?: RetryPauses | undefined
}

export function createIngestTokens(options: InstanceOptions): IngestTokens {
  const base = new URL(options.url)

  async function ask(method: Call['method'], path: string, action: string, body?: object) {
    const pauses = createPauses(options.retry)
    for (;;) {
      const answer = await askOnce(method, path, body)
      if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer
      // After a 503 a token may have been created nevertheless: `createAgain` looks for it before it repeats the request.
      const isRepeatable = answer.kind === 'answered' && (method !== 'POST' || answer.status === 429)
      if (!isRepeatable || !(await pauses.rest(answer)))
        throw errorOfAnswer(answer, action, options.apiKey()?.reveal() ?? '')
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
      dispatcher: options.dispatcher,
    })
  }

  async function list(): Promise<readonly ListedToken[]> {
    const action = 'list the ingest tokens'
    const answer = await ask('GET', 'tokens', action)
    const tokens = readList(parsed(answer.text), Date.now())
    if (tokens === undefined) throw errorOfBody(answer, action, 'the answer is incomplete, or not a list of tokens')
    return tokens
  }

  async function enforcement(): Promise<boolean> {
    const action = 'read the state of enforcement'
    const answer = await ask('GET', 'state', action)
    const enabled = readState(parsed(answer.text))
    if (enabled === undefined)
      throw errorOfBody(answer, action, 'the answer is incomplete, or has no enforcement state')
    return enabled
  }

  /** Whether this is the last valid token. The status of that refusal is not documented, so the reason is found by listing the tokens. */
  async function isLast(id: string): Promise<boolean> {
    if (!(await enforcement())) return false
    const valid = (await list()).filter(token => token.valid)
    return valid.length === 1 && valid[0]?.id === id
  }

  async function isListed(id: string): Promise<boolean> {
    return (await list()).some(token => token.valid && token.id === id)
  }

  async function create(name: string): Promise<CreatedToken> {
    const action = `create an ingest token named "${name}"`
    const answer = await ask('POST', 'tokens', action, { name })
    const token = readCreated(parsed(answer.text))
    if (token === undefined) throw errorOfBody(answer, action, 'the answer is incomplete, or has no token')
    if (!isSendable(token.value))
      throw errorOfBody(answer, action, 'the token in the answer cannot be sent in an HTTP header')
    return { value: new Secret(token.value), id: token.id }
  }

  async function revoke(id: string): Promise<Revocation> {
    try {
      await ask('DELETE', `tokens/${encodeURIComponent(id)}`, `revoke the ingest token ${id}`)
      return 'revoked'
    } catch (error) {
      if (!(error instanceof InstanceError)) throw error
      if (error.kind === 'not-found') {
        // A proxy, or an older instance without this endpoint, answers so, too.
        if (await isListed(id)) throw errorOfUnrevoked(id, error.status)
        return 'gone'
      }
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
      const action = `turn enforcement ${enabled ? 'on' : 'off'}`
      const answer = await ask('PUT', 'state', action, { enabled })
      // A 204 has no state, so the state is requested.
      return readState(parsed(answer.text)) ?? (await enforcement())
    },
  }
}

/**
 * Creates a token, also if the instance is overloaded for a moment.
 *
 * 1. The tokens of this name are listed before the first attempt.
 * 2. After a 503 it is unknown whether a token was created, and its value is lost. The tokens are listed again, and a new one of this name is
 *    revoked.
 * 3. The creation is repeated. A new token that could not be revoked because it was the last valid one is revoked after that.
 */
async function createAgain(
  name: string,
  { create, list, revoke }: Pick<IngestTokens, 'create' | 'list' | 'revoke'>,
  pauses: Pauses,
): Promise<CreatedToken> {
  const ids = async (): Promise<readonly string[]> =>
    (await list()).filter(token => token.valid && (token.name ?? name) === name).map(({ id }) => id)
  // If the tokens cannot be listed, the creation is not repeated. Its own error has the reason.
  const before = await ids().catch(() => undefined)
  /** Tokens to revoke later: while enforcement is on, the last valid token can only be revoked after another one was created. */
  const deferredIds: string[] = []
  for (;;) {
    try {
      const token = await create(name)
      // An error of a revocation must not prevent that the new value is returned.
      for (const id of deferredIds) await revoke(id).catch(() => undefined)
      return token
    } catch (error) {
      if (!(error instanceof InstanceError) || error.status !== 503) throw error
      if (before === undefined || !(await pauses.rest(error))) throw error
      const [orphan, ...others] = (await ids()).filter(id => !before.includes(id) && !deferredIds.includes(id))
      // Another client creates tokens of this name, so it is unknown which one this client has created.
      if (others.length > 0) throw error
      if (orphan !== undefined && (await revoke(orphan)) === 'last') deferredIds.push(orphan)
    }
  }
}
