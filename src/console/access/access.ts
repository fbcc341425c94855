// Who may see the pages, and whose requests may change something.
//
// The gate of the admin listener admits requests of this machine or with the admin token; here people may also log in with it. Requests that
// change something must come from our own form: they need its token, which other sites cannot read, and the browser's headers must not
// name another site.
import { bearerOf, createGate, type Refused } from './gate.ts'
import {
  cookieOf,
  createSessions,
  formToken,
  sameText,
  sessionCookie,
  type Session,
  type SessionParts,
} from './session.ts'
import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../lib/fault.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import type { FastifyRequest } from 'fastify'
import { Secret } from '../../lib/secret.ts'
import type { Identify, Person, Role } from './person.ts'
import type { Log } from '../../lib/log.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

/** Without an admin token the pages are open on loopback. */
interface AccessOptions extends SessionParts, FormKeyParts {
  /** Who has logged in at a proxy; undefined: no proxy is trusted. */
  readonly identify?: Identify | undefined
}

type Admission =
  | { readonly as: 'admitted'; readonly by: 'loopback' | 'bearer'; readonly form: string }
  | { readonly as: 'admitted'; readonly by: 'session'; readonly form: string; readonly session: Session }
  | { readonly as: 'admitted'; readonly by: 'proxy'; readonly form: string; readonly person: Person }
  | { readonly as: Refused | 'nobody' | 'other host' }

export type Admitted = Extract<Admission, { readonly as: 'admitted' }>

export interface Access {
  admit(request: FastifyRequest): Promise<Admission>
  /** Whether this request, whose connection is still open, would be admitted now. */
  stays(request: FastifyRequest, admission: Admitted): Promise<boolean>
  /** Checks a token that somebody typed. If it is right, begins a session and answers its cookie. */
  login(request: FastifyRequest, given: string): Promise<{ readonly cookie: string } | 'wrong token' | 'too many'>
  logout(admission: Admitted): Promise<void>
  /** Whether not everybody on this machine is admitted. */
  secured(): boolean
  /** Whether there is a token to log in with, and no proxy has logged in whoever asks. */
  takesLogin(request: FastifyRequest): boolean
  /** Ends all waiting. */
  close(): void
}

export function createAccess(options: AccessOptions): Access {
  const gate = createGate(options)
  const sessions = createSessions(options)
  const formKey = createFormKey(options)

  async function bySession(request: FastifyRequest, token: Secret): Promise<Session | undefined> {
    return sessions.find(token, cookieOf(request.headers.cookie, sessionCookie))
  }

  const admitted = async (person: Person): Promise<Admitted> => ({
    ...{ as: 'admitted', by: 'proxy', person },
    form: formToken(await formKey(), `${person.role} ${person.name}`),
  })

  return {
    secured: () => options.token() !== undefined || options.identify !== undefined,
    takesLogin: request => options.token() !== undefined && typeof options.identify?.(request) !== 'object',
    close: () => gate.close(),
    admit: async request => {
      const person = options.identify?.(request) ?? 'absent'
      if (typeof person === 'object') return admitted(person)
      if (person !== 'absent' && bearerOf(request) === undefined) return { as: person }
      // Behind a proxy on this machine, everybody would come from here.
      if (options.identify !== undefined && options.token() === undefined) return { as: 'nobody' }
      const found = await gate.check(request)
      if (found === 'loopback') return { as: 'admitted', by: found, form: formToken(await formKey(), found) }
      if (found === 'bearer') return { as: 'admitted', by: found, form: '' }
      const token = options.token()
      const session = found === 'no token' && token !== undefined ? await bySession(request, token) : undefined
      if (session === undefined || token === undefined) return { as: found }
      return { as: 'admitted', by: 'session', form: formToken(token, session.id), session }
    },
    stays: async (request, admission) => {
      if (admission.by === 'proxy') {
        const person = options.identify?.(request)
        return typeof person === 'object' && person.entry === admission.person.entry
      }
      const { by } = admission
      const token = options.token()
      if (by === 'loopback') return token === undefined
      if (token === undefined) return false
      if (by === 'bearer') return token.equals(bearerOf(request) ?? '')
      return (await bySession(request, token)) !== undefined
    },
    login: async (request, given) => {
      const found = await gate.compare(request, given)
      const token = options.token()
      if (found !== 'right') return found
      return token === undefined ? 'wrong token' : { cookie: await sessions.begin(token) }
    },
    logout: async admission => {
      const token = options.token()
      if (admission.by === 'session' && token !== undefined) await sessions.end(token, admission.session)
    },
  }
}

/** Whether a request that changes something was made by our own page, or by a script with the token. */
export function isOurs(request: FastifyRequest, admission: Admitted, given: string | undefined): boolean {
  if (admission.by === 'bearer') return true
  if (!isSameSite(request)) return false
  return given !== undefined && sameText(given, admission.form)
}

/** Names whoever asks, for what each may have of something. Everybody with the token itself is one, and everybody of this machine. */
export function holderOf(admission: Admitted): string {
  if (admission.by === 'proxy') return `person ${admission.person.name.toLowerCase()}`
  return admission.by === 'session' ? `session ${admission.session.id}` : admission.by
}

/** What an admitted request may change: everything, only what is about its projects, or nothing. */
export function mayChange(admission: Admitted): 'all' | 'own' | 'nothing' {
  if (admission.by !== 'proxy') return 'all'
  if (admission.person.role !== 'operator') return 'nothing'
  return admission.person.entry.projects === undefined ? 'all' : 'own'
}

/** Who does something, for the record of it. */
export function actorOf(admission: Admitted): { readonly user: string; readonly role: Role } {
  if (admission.by === 'proxy') return { user: admission.person.name, role: admission.person.role }
  return { user: admission.by === 'loopback' ? 'this machine' : 'admin token', role: 'operator' }
}

/** Whether the browser's headers name no other site as the request's origin. Scripts send no such headers. */
export function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return false
  // The origin may be "null", as of a form on a page without a referrer: that is not our host.
  if (origin === undefined) return true
  return URL.parse(origin)?.host === request.host
}

// The key that signs the forms of people who have no session: one for all replicas, which also outlives a restart. It is derived from the admin
// token; without one it is drawn once and stored. The store's content alone forges no form: the request must also come from our own page, and from
// whom the proxy has logged in or from this machine.
interface FormKeyParts {
  /** The current admin token. */
  readonly token: () => Secret | undefined
  readonly formKeys: Pick<Repositories['formKeys'], 'change'>
  readonly log: Log
}

export function createFormKey({ token, formKeys, log }: FormKeyParts): () => Promise<Secret> {
  const warn = sparseWarnings(log, () => performance.now())
  const drawn = { key: randomBytes(32).toString('base64url') }
  let stored: Secret | undefined
  return async () => {
    const configured = token()
    if (configured !== undefined) return configured
    try {
      stored ??= new Secret(await formKeys.change({}, (known = drawn) => ({ document: known, result: known.key })))
      return stored
    } catch (error) {
      // On a full disk people still need the pages.
      warn('form key', 'the key of forms could not be stored: they are valid in this process alone', {
        cause: reasonOf(error),
      })
      return new Secret(drawn.key)
    }
  }
}
