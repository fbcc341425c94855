// Who may see the pages, and whose requests may change something.
//
// Without an admin token: whoever reaches the loopback address, by a loopback name, and not through a proxy for somebody else.
// The name is checked because any web site can let its own name point at 127.0.0.1 (DNS rebinding). With a token: whoever sends it as bearer, or logged in with it.
// What changes something must come from our own form: its token, which other sites cannot read, and the browser's own word.
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { createAttempts, type Attempts } from './attempts.ts'
import { Secret } from '../lib/secret.ts'
import { cookieOf, formToken, readSession, sameText, sessionCookie } from './session.ts'
import type { FastifyRequest } from 'fastify'
import type { Millis } from '../model/instant.ts'

export interface AccessOptions {
  /** The admin token of this moment; undefined: the pages are open on loopback. */
  readonly token: () => Secret | undefined
  readonly now: () => Millis
}

export type Admission =
  | { readonly as: 'admitted'; readonly by: 'loopback' | 'session' | 'bearer'; readonly form: string }
  /** The request came by a name that is no loopback name, or from another machine. */
  | { readonly as: 'strange host' }
  | { readonly as: 'unknown' }
  /** Too many wrong tokens; again in so many seconds. */
  | { readonly as: 'too many'; readonly retryAfter: number }

export interface Access {
  admit(request: FastifyRequest): Admission
  /** Tries a token that somebody typed. */
  login(request: FastifyRequest, given: string): 'right' | 'wrong' | { readonly retryAfter: number }
  /** True when the pages ask for a token. */
  secured(): boolean
  readonly options: AccessOptions
}

export function createAccess(options: AccessOptions): Access {
  const { now } = options
  const attempts = createAttempts(now)
  const ownKey = new Secret(randomBytes(32).toString('base64url'))

  function tried(request: FastifyRequest, token: Secret, given: string): 'right' | 'wrong' | { retryAfter: number } {
    const address = nearestOf(request)
    const wait = waiting(attempts, address, now())
    if (wait !== undefined) return { retryAfter: wait }
    if (token.equals(given)) {
      attempts.succeeded(address)
      return 'right'
    }
    attempts.failed(address)
    return 'wrong'
  }

  return {
    options,
    secured: () => options.token() !== undefined,
    admit: request => {
      const token = options.token()
      if (token === undefined) {
        if (!isFromHere(request.headers)) return { as: 'strange host' }
        return { as: 'admitted', by: 'loopback', form: formToken(ownKey, 'loopback') }
      }
      const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
      if (bearer !== undefined) {
        const found = tried(request, token, bearer)
        if (found === 'right') return { as: 'admitted', by: 'bearer', form: '' }
        return found === 'wrong' ? { as: 'unknown' } : { as: 'too many', ...found }
      }
      const session = readSession(token, cookieOf(request.headers.cookie, sessionCookie), now())
      if (session === undefined) return { as: 'unknown' }
      return { as: 'admitted', by: 'session', form: formToken(token, session.nonce) }
    },
    login: (request, given) => {
      const token = options.token()
      return token === undefined ? 'wrong' : tried(request, token, given)
    },
  }
}

/** Whether a request that changes something was made by our own page, or by a script with the token. */
export function isOurs(request: FastifyRequest, admission: Admission, given: string | undefined): boolean {
  if (admission.as !== 'admitted') return false
  if (admission.by === 'bearer') return true
  if (!isSameSite(request)) return false
  return given !== undefined && sameText(given, admission.form)
}

/** The browser's own word on where a request comes from; scripts without a browser say nothing. */
export function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return false
  // A form that was opened from elsewhere without a referrer has the origin "null".
  if (origin === undefined) return true
  return URL.parse(origin)?.host === request.host
}

/** Behind a proxy the address that the proxy itself saw: what stands before it in the header anybody may write. */
function nearestOf({ ip, ips }: FastifyRequest): string {
  return ips?.[1] ?? ip
}

function waiting(attempts: Attempts, address: string, now: Millis): number | undefined {
  const until = attempts.waitUntil(address)
  return until === undefined ? undefined : Math.max(1, Math.ceil((until - now) / 1000))
}

/** By a loopback name; a proxy on this machine tells for whom it asks, and that must be this machine too. */
function isFromHere(headers: FastifyRequest['headers']): boolean {
  const told = (name: string): string[] =>
    [headers[name] ?? []]
      .flat()
      .join(',')
      .split(',')
      .flatMap(one => one.trim() || [])
  const senders = [...told('x-forwarded-for'), ...told('x-real-ip')]
  const names = senders.map(address => (isIP(address) === 6 ? `[${address}]` : address))
  return headers.forwarded === undefined && [headers.host, ...told('x-forwarded-host'), ...names].every(isLoopbackName)
}

/** `localhost`, `127.0.0.0/8` or `[::1]`, with a port or without. */
export function isLoopbackName(host: string | undefined): boolean {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? []
  const name = (bracketed ?? plain ?? '').toLowerCase().replace(/^::ffff:(?=127\.)/, '')
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
