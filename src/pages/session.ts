// Sessions of people who logged in. A cookie holds an id that nobody can guess; what it stands for is a document in the store, so
// that every replica knows it and all of them forget it when somebody logs out. The store holds a digest of the id, keyed by the
// admin token: whoever reads the store has no cookie, and a new token ends every session.
//
// Where the store takes no writes, as on a full disk, people still have to look at the pages: then a session begins in this
// process alone, and one that ends there is erased from the store when it takes writes again and somebody logs in or tries it.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Secret } from '../lib/secret.ts'

export const sessionCookie = 'pipespan_session'
/** A working day and a bit, ms. */
export const sessionLife = 12 * 3_600_000
/** Sessions at once; a new one ends the oldest. */
export const mostSessions = 500
/** By which clocks of replicas may differ, ms. */
const clockSlack = 3_600_000

export interface Session {
  /** Of the cookie; in a form it stands as its token only. */
  readonly id: string
}

export interface Sessions {
  /** A new one: what its cookie holds. */
  begin(token: Secret): Promise<string>
  /** Undefined for a cookie that is none of ours, too old, or of somebody who logged out. */
  find(token: Secret, cookie: string | undefined): Promise<Session | undefined>
  end(token: Secret, session: Session): Promise<void>
}

export interface SessionParts {
  readonly sessions: Repositories['sessions']
  readonly now: () => Millis
  readonly log: Log
}

export function createSessions({ sessions, now, log }: SessionParts): Sessions {
  /** Begun while the store took no writes, by digest. */
  const unwritten = new Map<string, Millis>()
  /** Ended while the store took no writes. */
  const unerased = new Map<string, Millis>()

  /** Forgets what has run out, and the oldest beyond the limit. */
  async function makeRoom(): Promise<void> {
    const [stored, at] = await Promise.all([sessions.all(), sessions.now()])
    const living = stored
      .filter(({ digest, until }) => isCurrent(until, at) && !unerased.has(digest))
      .sort((a, b) => b.until - a.until)
    const remaining = new Set(living.slice(0, mostSessions - 1).map(({ digest }) => digest))
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
        remember(unwritten, digest, now() + sessionLife)
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
        remember(unerased, digest, now() + sessionLife)
      }
    },
  }
}

/** Neither past nor further ahead than any session is: a clock that was wrong gives no longer life. */
function isCurrent(until: Millis, now: Millis): boolean {
  return until > now && until <= now + sessionLife + clockSlack
}

function remember(digests: Map<string, Millis>, digest: string, until: Millis): void {
  digests.set(digest, until)
  const [oldest] = digests.keys()
  if (digests.size > mostSessions && oldest !== undefined) digests.delete(oldest)
}

function digestOf(token: Secret, id: string): string {
  return keyed(token, 'session', id)
}

function keyed(token: Secret, purpose: 'session' | 'form', text: string): string {
  const key = createHmac('sha256', token.reveal()).update(`pipespan ${purpose}`).digest()
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Stands in every form of a session, where no other site can read it. */
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
