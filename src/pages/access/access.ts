// Who may see what the admin listener shows, and whose requests may change something.
//
// Without an admin token: requests to a loopback name that no proxy forwards for another machine. The name is checked because any web
// site can let its name point at 127.0.0.1 (DNS rebinding). With a token: requests with the bearer token, or of a session. Requests
// that change something must come from our own form: they need its token, which other sites cannot read, and the browser's headers
// must not name another site.
import { after } from '../../lib/timer.ts'
import { randomBytes } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import { createAttempts } from './attempts.ts'
import { Secret } from '../../lib/secret.ts'
import {
  cookieOf,
  createSessions,
  formToken,
  sameText,
  sessionCookie,
  type Session,
  type SessionParts,
} from './session.ts'
import type { FastifyRequest } from 'fastify'

export interface AccessOptions extends SessionParts {
  /** The current admin token; undefined: the pages are open on loopback. */
  readonly token: () => Secret | undefined
}

export type Admission =
  | { readonly as: 'admitted'; readonly by: 'loopback' | 'bearer'; readonly form: string }
  | { readonly as: 'admitted'; readonly by: 'session'; readonly form: string; readonly session: Session }
  /** There is no token, and the request was to a name that is not a loopback name, or from another machine. */
  | { readonly as: 'strange host' }
  | { readonly as: 'unknown' }
  /** A wrong token after several others. */
  | { readonly as: 'too many' }

export type Admitted = Extract<Admission, { readonly as: 'admitted' }>

export interface Access {
  admit(request: FastifyRequest): Promise<Admission>
  /** Whether this request, whose connection is still open, would be admitted now. */
  stays(request: FastifyRequest, admission: Admitted): Promise<boolean>
  /** Checks a token that somebody typed. If it is right, begins a session and answers its cookie. */
  login(request: FastifyRequest, given: string): Promise<{ readonly cookie: string } | 'wrong' | 'too many'>
  logout(admission: Admitted): Promise<void>
  /** True when the pages ask for a token. */
  secured(): boolean
  /** Ends all waiting. */
  close(): void
}

export function createAccess(options: AccessOptions): Access {
  const attempts = createAttempts(options.now)
  const sessions = createSessions(options)
  const ownKey = new Secret(randomBytes(32).toString('base64url'))
  const waiting = new WeakSet<Socket>()
  const closing = new AbortController()

  /** Waits before an attempt. False if the connection waits already, or closes. */
  async function mayTry(socket: Socket, ms: number): Promise<boolean> {
    if (waiting.has(socket)) return false
    waiting.add(socket)
    try {
      return await paused(socket, ms, closing.signal)
    } finally {
      waiting.delete(socket)
    }
  }

  async function tried(request: FastifyRequest, given: string): Promise<'right' | 'wrong' | 'too many'> {
    const address = nearestOf(request)
    const pause = attempts.pause(address)
    // An attempt without a pause is compared and counted synchronously: pipelined ones in the same packet cannot overtake the count.
    if (pause > 0 && !(await mayTry(request.raw.socket, pause))) return 'too many'
    if (options.token()?.equals(given) === true) return 'right'
    attempts.failed(address, given)
    return pause === 0 ? 'wrong' : 'too many'
  }

  async function bySession(request: FastifyRequest, token: Secret): Promise<Session | undefined> {
    return sessions.find(token, cookieOf(request.headers.cookie, sessionCookie))
  }

  return {
    secured: () => options.token() !== undefined,
    close: () => closing.abort(),
    admit: async request => {
      const token = options.token()
      if (token === undefined) {
        if (!isFromHere(request.headers)) return { as: 'strange host' }
        return { as: 'admitted', by: 'loopback', form: formToken(ownKey, 'loopback') }
      }
      const bearer = bearerOf(request)
      if (bearer !== undefined) {
        const found = await tried(request, bearer)
        if (found === 'right') return { as: 'admitted', by: 'bearer', form: '' }
        return found === 'wrong' ? { as: 'unknown' } : { as: found }
      }
      const session = await bySession(request, token)
      if (session === undefined) return { as: 'unknown' }
      return { as: 'admitted', by: 'session', form: formToken(token, session.id), session }
    },
    stays: async (request, { by }) => {
      const token = options.token()
      if (by === 'loopback') return token === undefined
      if (token === undefined) return false
      if (by === 'bearer') return token.equals(bearerOf(request) ?? '')
      return (await bySession(request, token)) !== undefined
    },
    login: async (request, given) => {
      const found = await tried(request, given)
      const token = options.token()
      if (found !== 'right') return found
      return token === undefined ? 'wrong' : { cookie: await sessions.begin(token) }
    },
    logout: async admission => {
      const token = options.token()
      if (admission.by === 'session' && token !== undefined) await sessions.end(token, admission.session)
    },
  }
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** False if the connection or the listener closes before. */
async function paused(socket: Socket, ms: number, signal: AbortSignal): Promise<boolean> {
  if (socket.destroyed || signal.aborted) return false
  return new Promise(resolve => {
    const timer = after(
      ms,
      () => done(true),
      () => done(false),
    )
    const ended = (): void => done(false)
    socket.once('close', ended)
    signal.addEventListener('abort', ended)
    function done(whole: boolean): void {
      timer.stop()
      socket.off('close', ended)
      signal.removeEventListener('abort', ended)
      resolve(whole)
    }
  })
}

/** Whether a request that changes something was made by our own page, or by a script with the token. */
export function isOurs(request: FastifyRequest, admission: Admitted, given: string | undefined): boolean {
  if (admission.by === 'bearer') return true
  if (!isSameSite(request)) return false
  return given !== undefined && sameText(given, admission.form)
}

/** Whether the browser's headers name no other site as the request's origin. Scripts send no such headers. */
export function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return false
  // The origin may be "null", as of a form on a page without a referrer: that is not our host.
  if (origin === undefined) return true
  return URL.parse(origin)?.host === request.host
}

/** Behind a proxy, the address that the proxy saw: anybody may write the ones before it in the header. */
function nearestOf({ ip, ips }: FastifyRequest): string {
  return ips?.[1] ?? ip
}

/** Whether the request is to a loopback name, and every sender that a proxy names is this machine, too. */
function isFromHere(headers: FastifyRequest['headers']): boolean {
  const valuesOf = (name: string): string[] =>
    [headers[name] ?? []]
      .flat()
      .join(',')
      .split(',')
      .flatMap(one => one.trim() || [])
  const senders = [...valuesOf('x-forwarded-for'), ...valuesOf('x-real-ip')]
  const names = senders.map(address => (isIP(address) === 6 ? `[${address}]` : address))
  return (
    headers.forwarded === undefined && [headers.host, ...valuesOf('x-forwarded-host'), ...names].every(isLoopbackName)
  )
}

/** `localhost`, `127.0.0.0/8` or `[::1]`, with a port or without. */
export function isLoopbackName(host: string | undefined): boolean {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? []
  const name = (bracketed ?? plain ?? '').toLowerCase().replace(/^::ffff:(?=127\.)/, '')
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
