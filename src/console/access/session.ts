// Sessions of people who are logged in. The cookie contains a random ID and its expiry, signed with the admin token. So every replica can verify it,
// and changing the token ends all sessions. A signed cookie alone cannot be revoked, so a logout is stored until the session would have expired.
//
// A login writes nothing to the store, because people need the pages most when the disk is full.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { remember } from '../../lib/bounded-map.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'
import type { Secret } from '../../lib/secret.ts'

export const sessionCookie = 'pipespan_session'
/** The duration of a session, ms. It is longer than a working day. */
export const sessionLife = 12 * 3_600_000
/** The maximum clock difference between replicas, ms. */
const maxClockSkew = 3_600_000
/** The maximum number of logouts kept in memory, in case the store cannot be written. */
const maxRemembered = 10_000

export interface Session {
  /** The session ID, as in the cookie. */
  readonly id: string
  readonly until: Millis
}

export interface Sessions {
  /** Starts a session and returns its cookie value. */
  begin(token: Secret): string
  /** Finds the session for a cookie. Returns undefined if the cookie is forged or expired, or if its session was logged out. */
  find(token: Secret, cookie: string | undefined): Promise<Session | undefined>
  end(token: Secret, session: Session): Promise<void>
}

export interface SessionParts {
  readonly sessions: Repositories['sessions']
  readonly now: () => Millis
  readonly log: Log
}

export function createSessions({ sessions, now, log }: SessionParts): Sessions {
  /** The digests of the sessions that were logged out in this process. */
  const endedHere = new Map<string, true>()
  return {
    begin: token => {
      const signed = `${randomBytes(32).toString('base64url')}.${now() + sessionLife}`
      return `${signed}.${keyed(token, 'cookie', signed)}`
    },
    find: async (token, cookie = '') => {
      const [, signed = '', id = '', end, signature = ''] = /^(([\w-]{43})\.(\d{13}))\.([\w-]{43})$/.exec(cookie) ?? []
      const until = Number(end)
      if (!isCurrent(until, now()) || !isSame(signature, keyed(token, 'cookie', signed))) return undefined
      const digest = keyed(token, 'session', id)
      if (endedHere.has(digest) || (await sessions.get({ digest })) !== undefined) return undefined
      return { id, until }
    },
    end: async (token, { id, until }) => {
      const digest = keyed(token, 'session', id)
      remember(endedHere, digest, true, maxRemembered)
      try {
        // Logouts are pruned long after their sessions have expired: if this clock is ahead, the logout of a session that is still valid must not be
        // deleted.
        await sessions.prune(one => one.until + sessionLife + maxClockSkew <= now())
        await sessions.put({ digest, until })
      } catch (error) {
        log.warn(
          { reason: reasonOf(error) },
          'a logout could not be stored: until the session expires, other replicas still accept its cookie, and so does this one after a restart',
        )
      }
    },
  }
}

/** Whether a session has not expired. Also false if its expiry is too far in the future, because a wrong clock must not prolong a session. */
function isCurrent(until: Millis, now: Millis): boolean {
  return until > now && until <= now + sessionLife + maxClockSkew
}

function keyed(token: Secret, purpose: 'session' | 'cookie', text: string): string {
  const key = createHmac('sha256', token.reveal()).update(`pipespan ${purpose}`).digest()
  return createHmac('sha256', key).update(text).digest('base64url')
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Returns the value of the cookie with this name (RFC 6265, 4.2.1). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}
