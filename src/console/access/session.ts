// Sessions of people who logged in. A cookie has a random id. The session is a document in the store, so that all replicas know it,
// and forget it at logout. The store only has a digest of the id, keyed with the admin token: nobody can make a cookie from the
// store's content, and a new token ends all sessions.
//
// If the store does not accept writes, as on a full disk, people still need the pages: then a session exists only in this process,
// and a session that ends is deleted from the store later, at the next login or when its cookie is used.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { reasonOf } from '../../lib/fault.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'
import type { Secret } from '../../lib/secret.ts'

export const sessionCookie = 'pipespan_session'
/** ms; longer than a working day. */
export const sessionLife = 12 * 3_600_000
/** Maximum number of sessions; a new one ends the oldest. */
export const maxSessions = 500
/** How much the clocks of replicas may differ, ms. */
const clockSlack = 3_600_000

export interface Session {
  /** The id in the cookie. Forms only contain the token derived from it. */
  readonly id: string
}

export interface Sessions {
  /** Begins a session; answers the value of its cookie. */
  begin(token: Secret): Promise<string>
  /** Undefined for an unknown or expired cookie, and after logout. */
  find(token: Secret, cookie: string | undefined): Promise<Session | undefined>
  end(token: Secret, session: Session): Promise<void>
}

export interface SessionParts {
  readonly sessions: Repositories['sessions']
  readonly now: () => Millis
  readonly log: Log
}

export function createSessions({ sessions, now, log }: SessionParts): Sessions {
  /** Sessions that could not be stored, by digest. */
  const unwritten = new Map<string, Millis>()
  /** Ended sessions that could not be deleted, by digest. */
  const unerased = new Map<string, Millis>()

  /** Deletes expired sessions, and the oldest beyond the limit. */
  async function makeRoom(): Promise<void> {
    const [stored, at] = await Promise.all([sessions.all(), sessions.now()])
    const living = stored
      .filter(({ digest, until }) => isCurrent(until, at) && !unerased.has(digest))
      .sort((a, b) => b.until - a.until)
    const remaining = new Set(living.slice(0, maxSessions - 1).map(({ digest }) => digest))
    await sessions.prune(({ digest }) => !remaining.has(digest))
    unerased.clear()
  }

  return {
    begin: async token => {
      const id = randomBytes(32).toString('base64url')
      const digest = digestOf(token, id)
      try {
        await makeRoom()
        await sessions.change({ digest }, (_, at) => ({
          document: { digest, until: at + sessionLife },
          result: undefined,
        }))
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'a session could not be stored: it is valid in this process alone')
        remember(unwritten, digest, now() + sessionLife, maxSessions)
      }
      return id
    },
    find: async (token, cookie) => {
      if (cookie === undefined || !/^[\w-]{43}$/.test(cookie)) return undefined
      const digest = digestOf(token, cookie)
      if (unerased.has(digest)) {
        void sessions.remove({ digest }).then(
          () => unerased.delete(digest),
          () => undefined,
        )
        return undefined
      }
      const own = unwritten.get(digest)
      if (own !== undefined) return isCurrent(own, now()) ? { id: cookie } : undefined
      const [found, at] = await Promise.all([sessions.get({ digest }), sessions.now()])
      return found !== undefined && isCurrent(found.until, at) ? { id: cookie } : undefined
    },
    end: async (token, { id }) => {
      const digest = digestOf(token, id)
      if (unwritten.delete(digest)) return
      try {
        await sessions.remove({ digest })
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'an ended session could not be deleted from the store yet')
        remember(unerased, digest, now() + sessionLife, maxSessions)
      }
    },
  }
}

/** Also false for an end that is too far in the future: a wrong clock must not prolong a session. */
function isCurrent(until: Millis, now: Millis): boolean {
  return until > now && until <= now + sessionLife + clockSlack
}

function digestOf(token: Secret, id: string): string {
  return keyed(token, 'session', id)
}

function keyed(token: Secret, purpose: 'session' | 'form', text: string): string {
  const key = createHmac('sha256', token.reveal()).update(`pipespan ${purpose}`).digest()
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** The token in every form of a session. Other sites cannot read it. */
export function formToken(key: Secret, id: string): string {
  return keyed(key, 'form', id)
}

export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The value of a cookie by its name (RFC 6265, 4.2.1). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}
