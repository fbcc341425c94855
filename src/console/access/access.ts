// Decides who may see the pages, and whose requests may change something.
//
// The admin listener's gate admits requests from this machine, or with the admin token. On the pages, people may also log in with that token. A
// request that changes something must come from one of our own pages: the browser reports which site a request comes from, and a site cannot change
// that. CSRF tokens in forms would prove no more, and would need a key shared by all replicas.
import { bearerOf, createGate, type Refused } from './gate.ts'
import { cookieOf, createSessions, sessionCookie, type Session, type SessionParts } from './session.ts'
import type { FastifyRequest } from 'fastify'
import type { Identify, Person, Role } from './person.ts'
import type { Secret } from '../../lib/secret.ts'

interface AccessOptions extends SessionParts {
  /** Returns the current admin token. Without a token, the pages are open to requests on loopback. */
  readonly token: () => Secret | undefined
  /** Returns the person who is logged in at a proxy. Undefined if no proxy is trusted. */
  readonly identify?: Identify | undefined
}

type Admission =
  | { readonly as: 'admitted'; readonly by: 'loopback' | 'bearer' }
  | { readonly as: 'admitted'; readonly by: 'session'; readonly session: Session }
  | { readonly as: 'admitted'; readonly by: 'proxy'; readonly person: Person }
  | { readonly as: Refused | 'nobody' | 'other host' }

export type Admitted = Extract<Admission, { readonly as: 'admitted' }>

export interface Access {
  admit(request: FastifyRequest): Promise<Admission>
  /** Checks the token that a person entered in the login form. If it is correct, starts a session and returns its cookie. */
  login(request: FastifyRequest, given: string): Promise<{ readonly cookie: string } | 'wrong token' | 'too many'>
  logout(admission: Admitted): Promise<void>
  /** Whether a token or a proxy controls access. If false, everybody on this machine is admitted. */
  secured(): boolean
  /** Whether to offer a login form: an admin token is set, and no proxy has already logged this person in. */
  takesLogin(request: FastifyRequest): boolean
  /** Ends the delays of all pending login attempts. */
  close(): void
}

export function createAccess(options: AccessOptions): Access {
  const gate = createGate(options)
  const sessions = createSessions(options)
  return {
    secured: () => options.token() !== undefined || options.identify !== undefined,
    takesLogin: request => options.token() !== undefined && typeof options.identify?.(request) !== 'object',
    close: () => gate.close(),
    admit: async request => {
      const person = options.identify?.(request) ?? 'absent'
      if (typeof person === 'object') return { as: 'admitted', by: 'proxy', person }
      if (person !== 'absent' && bearerOf(request) === undefined) return { as: person }
      // With a trusted proxy and no admin token, no request is admitted as local, because every request through a proxy on this machine would look
      // local.
      if (options.identify !== undefined && options.token() === undefined) return { as: 'nobody' }
      const found = await gate.check(request)
      if (found === 'loopback' || found === 'bearer') return { as: 'admitted', by: found }
      const token = options.token()
      if (found !== 'no token' || token === undefined) return { as: found }
      const session = await sessions.find(token, cookieOf(request.headers.cookie, sessionCookie))
      return session === undefined ? { as: found } : { as: 'admitted', by: 'session', session }
    },
    login: async (request, given) => {
      const found = await gate.compare(request, given)
      const token = options.token()
      if (found !== 'right') return found
      return token === undefined ? 'wrong token' : { cookie: sessions.begin(token) }
    },
    logout: async admission => {
      const token = options.token()
      if (admission.by === 'session' && token !== undefined) await sessions.end(token, admission.session)
    },
  }
}

/** Whether a request that changes something was sent by one of our own pages or by a script, not by a page of another site. */
export function isOurs(request: FastifyRequest, admission: Admitted): boolean {
  return admission.by === 'bearer' || isSameSite(request)
}

/** Returns what an admitted request may change: everything, only what belongs to the person's own projects, or nothing. */
export function mayChange(admission: Admitted): 'all' | 'own' | 'nothing' {
  if (admission.by !== 'proxy') return 'all'
  if (admission.person.role !== 'operator') return 'nothing'
  return admission.person.entry.projects === undefined ? 'all' : 'own'
}

/** Returns the user and the role to record with an action. */
export function actorOf(admission: Admitted): { readonly user: string; readonly role: Role } {
  if (admission.by === 'proxy') return { user: admission.person.name, role: admission.person.role }
  return { user: admission.by === 'loopback' ? 'this machine' : 'admin token', role: 'operator' }
}

/** False if the browser's headers name another site as the request's origin. Scripts do not send these headers. */
export function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return false
  // The `Origin` header may be "null", for example when a form is sent from a page without a referrer. "null" does not match our host.
  if (origin === undefined) return true
  return URL.parse(origin)?.host === request.host
}
