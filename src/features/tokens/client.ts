// The client of the observability instance's ingest-token API: it creates, lists and revokes tokens, and reads and sets the enforcement state (the
// platform's REST document, "Pipeline telemetry export (observability instance)").
import type { Dispatcher } from 'undici'
import { backoff } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import { Secret } from '../../lib/secret.ts'
import { errorOfAnswer, errorOfBody, errorOfKey, errorOfUnrevoked, InstanceError } from './instance-error.ts'
import { readCreated, readList, readState, type ListedToken } from './listed-token.ts'
import { isSendable, parsed, send, type Answer, type Call } from './request.ts'

export interface CreatedToken {
  readonly value: Secret
  /** Undefined if the response has no id: the platform's documentation does not promise one. */
  readonly id: string | undefined
}

/**
 * The result of revoking a token. `last` means that the instance refused, because this is the last valid token and enforcement is on. `gone` means
 * that the token did not exist (404) and is not listed.
 */
export type Revocation = 'revoked' | 'gone' | 'last'

/** The operations of the token API. Each throws an InstanceError if the instance does not do what was requested. */
export interface IngestTokens {
  /** The configured URL, which identifies the instance. */
  readonly url: string
  create(name: string): Promise<CreatedToken>
  list(): Promise<readonly ListedToken[]>
  revoke(id: string): Promise<Revocation>
  /** Whether the instance drops telemetry without a valid token. */
  enforcement(): Promise<boolean>
  /** Turns enforcement on or off, with immediate effect. Returns the new state. */
  setEnforcement(enabled: boolean): Promise<boolean>
}

export interface InstanceOptions {
  /** The base URL of the instance, possibly with a path before `/api/v1`. */
  readonly url: string
  /** Returns the API key. It is called for every request, because the key file may change. */
  readonly apiKey: () => Secret | undefined
  readonly dispatcher?: Dispatcher | undefined
  readonly timeoutMs: number
  /** The clock for the pause before a request is retried after a 429 or 503. If undefined, every request is sent only once. */
  readonly retryClock?: Clock | undefined
}

const pauses = { first: 500, max: 8_000 }
/**
 * The maximum total pause per request, ms. It is shorter than the lease on a rotation's target, because the lease is not renewed during the pauses.
 */
const maxPaused = 30_000

export function createIngestTokens(options: InstanceOptions): IngestTokens {
  const base = new URL(options.url)

  async function ask(method: Call['method'], path: string, action: string, body?: object) {
    let paused = 0
    for (let tries = 1; ; tries += 1) {
      const answer = await askOnce(method, path, body)
      if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer
      const isBusy = answer.kind === 'answered' && (answer.status === 429 || answer.status === 503)
      // A POST is not retried after a 503: the token may have been created although its value is lost, and a retry could create a second one.
      const isRepeatable = isBusy && (method !== 'POST' || answer.status === 429)
      const pause = isRepeatable ? Math.max(answer.retryAfter ?? 0, backoff(tries, pauses)) : Infinity
      paused += pause
      if (options.retryClock === undefined || paused > maxPaused)
        throw errorOfAnswer(answer, action, options.apiKey()?.reveal() ?? '')
      await options.retryClock.sleep(pause)
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
    if (tokens === undefined) throw errorOfBody(answer, action, 'the response is incomplete, or not a list of tokens')
    return tokens
  }

  async function enforcement(): Promise<boolean> {
    const action = 'read the state of enforcement'
    const answer = await ask('GET', 'state', action)
    const enabled = readState(parsed(answer.text))
    if (enabled === undefined)
      throw errorOfBody(answer, action, 'the response is incomplete, or has no enforcement state')
    return enabled
  }

  /**
   * Whether this is the last valid token. The status with which the instance refuses to revoke it is not documented, so the reason is found by
   * listing the tokens.
   */
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
    if (token === undefined) throw errorOfBody(answer, action, 'the response is incomplete, or has no token')
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
      if (error.status === 404) {
        // A 404 does not prove that the token is gone: a proxy, or an older instance without this endpoint, also responds with it.
        if (await isListed(id)) throw errorOfUnrevoked(id, error.status)
        return 'gone'
      }
      const { status = 0 } = error
      const isRefused = status >= 400 && status < 500 && status !== 401 && status !== 429
      if (isRefused && (await isLast(id).catch(() => status === 409))) return 'last'
      throw error
    }
  }

  return {
    url: options.url,
    list,
    enforcement,
    create,
    revoke,
    setEnforcement: async enabled => {
      const action = `turn enforcement ${enabled ? 'on' : 'off'}`
      const answer = await ask('PUT', 'state', action, { enabled })
      // A 204 has no body with the state, so the state is requested.
      return readState(parsed(answer.text)) ?? (await enforcement())
    },
  }
}
